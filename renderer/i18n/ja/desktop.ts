export const desktop = {
  'desktop.title': 'このアプリ',
  'desktop.notices': '他のアプリの使用中に、次のことを通知する',
  'desktop.notices.job_completed': 'ジョブが完了した',
  'desktop.notices.job_failed': 'ジョブが失敗した',
  'desktop.notices.worker_lost': 'ジョブを持つワーカーが応答しなくなった',
  'desktop.atLogin': 'ログイン時にウィンドウなしで起動する',
  'desktop.runsOwn': 'このコンピューターでオーケストレーターを動かす',
  'desktop.runsOwn.note':
    'オフの間、このコンピューターは自分のジョブを割り当てません。ウィンドウに別のフリートを表示している間だけオフにできます。',
  'desktop.fleets': 'フリート',
  'desktop.fleets.what':
    'このアプリで表示できるオーケストレーターです。アプリは常に自身のパネルを使い、入力されたトークンで各オーケストレーターを呼び出します。',
  'desktop.fleets.here': 'このコンピューター',
  'desktop.fleets.shown': '表示中',
  'desktop.fleets.show': '表示',
  'desktop.fleets.show.of': '{name} を表示',
  'desktop.fleets.add': 'フリートを追加',
  'desktop.fleets.change': '編集',
  'desktop.fleets.change.of': '{name} を編集',
  'desktop.fleets.remove': '削除',
  'desktop.fleets.remove.of': '{name} を削除',
  'desktop.fleets.remove.title': '{name} をこのアプリから削除しますか？',
  'desktop.fleets.remove.consequence':
    'アプリはそのアドレスとトークンを削除します。フリート自体は動き続けます。',
  'desktop.fleets.sealed': 'トークンはシステムのキーリングで暗号化されています。',
  'desktop.fleets.plain':
    'このシステムにはキーリングがありません。トークンは暗号化されず、あなたのアカウントだけが読めるファイルに保存されます。',
  'desktop.fleets.pinned': 'ピン留めされた鍵だけを受け入れます。',
  'desktop.fleets.trouble': '接続できません: {detail}',
  'desktop.fleet.name': '名前',
  'desktop.fleet.url': 'アドレス',
  'desktop.fleet.token': 'トークン',
  'desktop.fleet.token.keep': '空のままにすると、今のトークンを使い続けます。',
  'desktop.fleet.pin': 'ピン',
  'desktop.fleet.pin.note':
    '独自の証明書を使うオーケストレーター用です。ピンはその設定ページに表示されます。',
  'desktop.fleet.save': '保存',
  'desktop.refused':
    'このフリートは、アプリのトークンを拒否しました。期限切れか、失効した可能性があります。新しいトークンを入力してください。',
  'desktop.refused.again': '再試行',
  'desktop.refused.here': 'このコンピューターを表示',
};
