import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'このブラウザー',
  'settings.theme': 'テーマ',
  'settings.theme.system': 'システム',
  'settings.theme.light': 'ライト',
  'settings.theme.dark': 'ダーク',
  'settings.language': '言語',
  'settings.zone': 'タイムゾーン',
  'settings.zone.local': 'ローカル：{zone}',
  'settings.zone.utc': 'UTC',
  'settings.server': 'オーケストレーター',
  'settings.address': 'アドレス:',
  'settings.version': 'バージョン:',
  'settings.network': 'ネットワーク',
  'settings.network.private': 'オーケストレーターに接続できるのは、このマシンだけです。',
  'settings.network.shared': 'ほかのマシンは、次のアドレスでオーケストレーターに接続できます:',
  'settings.network.noAddress': 'このマシンには現在、ネットワークアドレスがありません。',
  'settings.fixed':
    '{by} で設定されています。ここで変更するには、そのオプションなしでサーバーを再起動してください。',
  'settings.note.virtual': '{name}: このマシンのコンテナーと仮想マシンのみ',
  'settings.note.vpn': '{name}: プライベートネットワーク (VPN)',
  'settings.note.loopback': '{name}: このマシンのみ',
  'settings.share': 'このネットワークで共有',
  'settings.share.title': 'このネットワークで共有しますか?',
  'settings.share.what':
    '同じネットワークのマシンがこのパネルを開き、ワーカーとして参加できるようになります。実行中のジョブには影響しません。',
  'settings.share.warning':
    'トークンは暗号化されずに送られます。信頼できるネットワークでのみ共有してください。通信を傍受できる人はトークンを読めます。',
  'settings.share.signIn': '別のアドレスで開いたブラウザーでは、サインインが必要です。',
  'settings.unshare': '共有を停止',
  'settings.unshare.title': '共有を停止しますか?',
  'settings.unshare.consequence':
    'ネットワーク接続はすぐに切断されます。ほかのマシンのワーカーは学習を続けますが、再び共有するまでオフラインになります。そのブラウザーではこのページを読み込めなくなります。',
  'settings.unshare.workers':
    '{count, plural, =0 {ほかのマシンのワーカーは接続していません。} other {ほかのマシンのワーカーが # 台接続しています。}}',
  'settings.tls': '暗号化 (TLS)',
  'settings.tls.switch': 'ほかのマシンとの通信に TLS を使う',
  'settings.tls.on':
    'ほかのマシンは HTTPS で接続します。このマシンでは暗号化しない HTTP を使い、その通信はマシンの外に出ません。',
  'settings.tls.off': 'ほかのマシンは HTTP で接続します。',
  'settings.tls.askOn': 'ほかのマシンとの通信に TLS を使いますか?',
  'settings.tls.askOff': 'ほかのマシンとの TLS 通信をやめますか?',
  'settings.tls.turnOn': 'TLS を有効にする',
  'settings.tls.turnOff': 'TLS を無効にする',
  'settings.tls.consequence':
    'ネットワーク接続はすぐに切断されます。ほかのマシンのワーカーは学習を続けますが、新しいアドレスを使うまでオフラインになります。',
  'settings.tls.anew':
    'それぞれを新しい参加コマンド (ワーカー、新しいトークン) で起動し直し、そこではこのページを新しいアドレスで開いてください。',
  'settings.tls.fingerprint': 'フィンガープリント (SHA-256)',
  'settings.tls.pin': 'ピン (ワーカー用)',
  'settings.tls.until': '有効期限',
  'settings.tls.names': '対象',
  'settings.tls.own':
    'この証明書はオーケストレーター自身が作成したものなので、ブラウザーは最初のアクセスで警告します。表示されるフィンガープリントをこれと比べ、同じ場合にだけ先へ進んでください。証明書は自動で更新され、ピンは変わりません。',
  'settings.tls.files':
    '証明書は、別に管理されているファイルから読み込まれます。変更されるとサーバーが読み直します。',
  'settings.share.tls': 'TLS を使う (推奨)',
  'settings.publicUrl': '公開アドレス (参加コマンド用)',
  'settings.publicUrl.hint':
    'プロキシなど、このサーバー自身とは別のアドレスで接続するマシンのためのものです。空にすると、このマシンのアドレスを使います。',
  'settings.save': '保存',
  'settings.saved': '保存しました。',
  'settings.here': 'このマシン',
  'settings.here.off': 'サーバー自身のマシンではジョブを実行しません。',
  'settings.here.on': 'サーバー自身のマシンでもジョブを実行します。',
  'settings.here.leaving': '現在のジョブを終えたら、以後は実行しません。',
  'settings.here.turnOn': 'ここでジョブを実行',
  'settings.here.turnOff': 'ここでの実行を停止',
  'settings.here.onSays':
    'サーバーと並んでワーカーを起動します。ほかのワーカーと同じようにジョブを受け付けます。',
  'settings.here.offSays':
    'オフにすると、現在のジョブを終えてから停止します。サーバーが停止しても学習は続き、次の起動後にサーバーが再び追跡します。',
  'settings.here.gpus': 'GPU',
  'settings.here.gpusHint': '番号をコンマで区切ります。空にすると、すべて使います。',
  'settings.here.trainer': 'トレーナー',
  'settings.here.trainerHint':
    '“trainyard worker --trainer” と同じ指定：simpletuner（既定）、kohya=FOLDER などのトレーナー、またはコマンド。',
  'settings.here.trainerElsewhere':
    'サーバーのマシンで実行されるコマンドです。そのマシンのブラウザーでのみ変更できます。',
  'settings.here.restarts': '保存するとワーカーが再起動します。学習は続きます。',
  'settings.folders': 'フォルダー',
  'settings.folders.configs': '学習の設定',
  'settings.folders.data': 'データ',
  'settings.copy': '{text} をコピー',
  'gpuTrouble.title': '故障した GPU と使用中の GPU',
  'gpuTrouble.some': 'ワーカーの GPU のいずれかが次の状態のとき、新しいジョブを受け付けません:',
  'gpuTrouble.none': 'GPU に問題があっても、ワーカーはジョブを受け付けます。',
  'gpuTrouble.missing': '見つからない、または応答しない',
  'gpuTrouble.errors': '訂正できないメモリエラーがある',
  'gpuTrouble.held': 'ワーカー以外のプロセスが使用している',
  'gpuTrouble.what':
    '実行中のジョブには影響しません。このワーカーだけが実行できるジョブは、理由を表示して待機し、問題が解消すると開始します。',
};
