import type { SettingsKey } from '../en/settings-topics.ts';

export const settingsTopics: Readonly<Record<SettingsKey, string>> = {
  'topics.label': 'トピック',
  'topics.choose': 'トピック',
  'topics.general': '全般',
  'topics.account': 'アカウント',
  'topics.phone': 'スマートフォンで開く',
  'topics.token.created': '{by} が作成:',
  'topics.token.team': 'チーム {team}',
  'topics.data': 'データとバックアップ',
  'topics.access': 'アクセス',
  'topics.notifications': '通知',
  'topics.push': 'このブラウザーのプッシュ通知',
  'topics.search': '設定を検索',
  'topics.search.results': '見つかった設定',
  'topics.search.count': '{count} 件の設定が見つかりました',
  'topics.search.none': '「{query}」に一致する設定はありません。',
  'topics.queue.title': '順番と一時停止',
  'topics.queue.explain':
    'キューのページには、待機中のジョブの順番が表示されます。キューの一時停止もそこでできます。',
  'topics.queue.page': 'キューを開く',
  'topics.workers.title': 'ほかのマシン',
  'topics.workers.explain':
    'ワーカーのページには、すべてのマシンが表示されます。追加、名前とラベルの変更、ドレイン、削除はそこで行います。',
  'topics.workers.page': 'ワーカーを開く',
  'topics.pools.explain':
    'プールは、ジョブが待っているあいだ、クラスターやクラウドにマシンを注文します。上限、予算、時間帯はプールのページにあります。',
  'topics.pools.none': 'プールはまだありません。',
  'topics.pools.edit': '編集',
  'topics.pools.edit.of': 'プール {name} を編集',
  'topics.pools.page': 'プールを開く',
  'topics.data.title': 'データセット',
  'topics.data.explain':
    'データのページには、データセットとその使用量が表示されます。古いバージョンはそこで削除できます。',
  'topics.data.page': 'データセットを開く',
};
