import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': 'イベント',
  'audit.target': '対象',
  'audit.actor': '実行者',
  'audit.at': '日時',
  'audit.seq': '番号',
  'audit.details': '詳細',
  'audit.count': '{count, plural, other {# 件}}',
  'audit.none': 'まだ記録はありません。ジョブ、ワーカー、トークンへの操作がここに表示されます。',
  'audit.noMatch': '条件に合う記録はありません。実行者と対象は完全一致で検索されます。',
  'audit.more': '古い記録を表示',
  'audit.verify': '記録を検証',
  'audit.verifying': '記録全体を検証中',
  'audit.whole': '{count, plural, other {# 件を検証済み、変更なし}}',
  'audit.broken': '記録 {seq, number}: {problem}',
  'audit.anyType': 'すべてのイベント',
  'audit.since': '開始',
  'audit.until': '終了',
  'audit.export': 'JSON Lines で書き出す',
  'audit.trimmed': '記録 {seq, number} までは古くなったため削除されました。',
};
