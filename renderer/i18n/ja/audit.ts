import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': '操作',
  'audit.target': '対象',
  'audit.actor': '実行者',
  'audit.at': '日時',
  'audit.seq': '番号',
  'audit.details': '詳細',
  'audit.count': '{count, plural, other {# 行}}',
  'audit.none': 'まだ何も行われていません。',
  'audit.noMatch': '該当する行はありません。実行者と対象は完全一致で比較されます。',
  'audit.more': '古い行を表示',
  'audit.verify': '今すぐ検証',
  'audit.verifying': '記録全体を読み込み中',
  'audit.whole': '{count, plural, =1 {# 行、書かれたままです} other {# 行、すべて書かれたままです}}',
  'audit.broken': '行 {seq, number}: {problem}',
  'audit.anyType': 'すべて',
  'audit.since': '開始',
  'audit.until': '終了',
  'audit.export': 'JSON Lines で書き出す',
  'audit.trimmed': '行 {seq, number} までは古くなったため削除されました。',
};
