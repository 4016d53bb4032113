import type { tokens as source } from '../en/tokens.ts';

export const tokens: Readonly<Record<keyof typeof source, string>> = {
  'tokens.title': 'トークン',
  'tokens.what':
    '人やスクリプト用です。それぞれに必要な権限だけを与えます。データフォルダーの管理者トークンはすべての操作ができます。',
  'tokens.add': 'トークンを追加',
  'tokens.new': '新しいトークン',
  'tokens.name': '使う人',
  'tokens.may': 'できること',
  'tokens.lasts': '有効期間',
  'tokens.days': '{count, plural, other {# 日}}',
  'tokens.never': '期限なし',
  'tokens.expires': '期限：',
  'tokens.used': '最終使用：',
  'tokens.create': 'トークンを作成',
  'tokens.made': '{name} のトークン',
  'tokens.once': '表示されるのは今回だけです。今すぐ保管してください。',
  'tokens.copy': 'トークンをコピー',
  'tokens.revoke': '失効させる',
  'tokens.revoked': '{name} を失効させました。',
  'tokens.revoke.of': '{name} のトークンを失効させる',
  'tokens.revoke.title': '{name} のトークンを失効させますか？',
  'tokens.revoke.consequence':
    'ブラウザーでもスクリプトでも、使っている人はすぐに締め出されます。元に戻せません。',
  'tokens.may.queue.view': 'キューを見る',
  'tokens.may.queue.submit': 'ジョブを投入する',
  'tokens.may.queue.cancel': 'ジョブを取り消す',
  'tokens.may.queue.manage': 'キューを管理する',
  'tokens.may.admin.workers': 'ワーカーを管理する',
  'tokens.may.admin.audit': '監査記録を読む',
  'tokens.may.admin.tokens': 'トークンを管理する',
};
