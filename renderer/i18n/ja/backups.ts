import type { backups as source } from '../en/backups.ts';

export const backups: Readonly<Record<keyof typeof source, string>> = {
  'backups.title': 'バックアップ',
  'backups.what':
    'データベースのコピーです。書き込み後にそれぞれ検査されます。ジョブ、ワーカー、トークン、監査記録が入っています。学習の設定とこの画面の設定は別の場所にあり、含まれません。',
  'backups.hourly': '最後の毎時バックアップ：',
  'backups.none': 'バックアップはまだありません。',
  'backups.all': '{count, plural, other {# 件すべてを表示}}',
  'backups.make': 'バックアップを作成',
  'backups.making': 'バックアップを作成し、検査しています…',
  'backups.made': 'バックアップを作成し、検査しました。',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': '毎時',
  'backups.kind.manual': '手動',
  'backups.kind.upgrade': '更新の前',
  'backups.kind.restore': '復元の前',
  'backups.restore': '復元…',
  'backups.restore.of': '{name} を復元',
  'backups.restore.title': 'このバックアップを復元しますか？',
  'backups.restore.consequence':
    'オーケストレーターはこのバックアップの状態に戻ります。それ以降のジョブ、ワーカー、トークンの変更は破棄されます。監査記録はすべて保持されます。',
  'backups.restore.asOf': 'この時点の状態：',
  'backups.restore.saved': '元に戻せるように、まず現在の状態をバックアップとして残します。',
  'backups.restore.workers':
    'ワーカーは学習を続けます。バックアップにないジョブは、ワーカーが再接続したときに停止します。それ以降に参加したワーカーは、参加し直す必要があります。',
  'backups.restore.signIn':
    'セッションとトークンも復元されます。それ以降に失効させたトークンは再び有効になり、もう一度サインインが必要になることがあります。管理者トークンは変わりません。',
  'backups.restore.type': '確認のため名前を入力してください：',
  'backups.restore.act': 'バックアップを復元',
  'backups.restoring':
    '{name} を復元しています。現在の状態を保存し、サーバーが少しの間停止します。このページは自動的に再接続します。',
  'backups.restored': '復元しました。以前の状態は {saved} として保存されています。',
  'retention.title': '監査記録',
  'retention.all': 'すべて残します。',
  'retention.some': '{count, plural, other {# 日間残します。}}',
  'retention.days': '残す日数',
  'retention.hint': '空にすると、すべて残します。',
  'retention.what':
    '古い項目は 1 日に数回削除されます。代わりに封印された印が残るため、残りは引き続き検証できます。削除したものは戻らないので、必要なら先に書き出してください。',
};
