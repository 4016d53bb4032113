import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'このブラウザー',
  'settings.theme': 'テーマ',
  'settings.theme.system': 'システムに合わせる',
  'settings.theme.light': 'ライト',
  'settings.theme.dark': 'ダーク',
  'settings.language': '言語',
  'settings.zone': 'タイムゾーン',
  'settings.zone.local': 'このマシンの設定：{zone}',
  'settings.zone.utc': 'UTC',
  'settings.server': 'オーケストレーター',
  'settings.address': 'アドレス:',
  'settings.version': 'バージョン:',
  'settings.network': 'ネットワーク',
  'settings.network.private': 'オーケストレーターに接続できるのは、このマシンだけです。',
  'settings.network.shared': 'ほかのマシンは、次のアドレスでオーケストレーターに接続できます:',
  'settings.network.noAddress': 'このマシンには現在、どのネットワークのアドレスもありません。',
  'settings.fixed': '{by} で固定されています。ここで設定するには、それを付けずにサーバーを起動してください。',
  'settings.note.virtual': '{name}: このマシンのコンテナーと仮想マシンのみ',
  'settings.note.vpn': '{name}: プライベートネットワーク (VPN)',
  'settings.note.loopback': '{name}: このマシンのみ',
  'settings.share': 'このネットワークで共有',
  'settings.share.title': 'このネットワークで共有しますか?',
  'settings.share.what':
    '共有すると、同じネットワークのマシンがこのパネルに接続でき、ワーカーとして参加できるようになります。実行中のものには影響しません。',
  'settings.share.warning':
    'トークンは暗号化されずに送られます。信頼できるネットワークでのみ共有してください。通信を傍受できる人はトークンを読めます。',
  'settings.share.signIn': '別のアドレスで開いたブラウザーでは、サインインが必要です。',
  'settings.unshare': '共有を停止',
  'settings.unshare.title': '共有を停止しますか?',
  'settings.unshare.consequence':
    'ネットワーク経由の接続はすぐに切れます。そのワーカーは学習を続けますが、再び共有されるまで応答しません。そのブラウザーではこのページが使えなくなります。',
  'settings.unshare.workers':
    '{count, plural, =0 {ほかのマシンのワーカーは接続していません。} other {ほかのマシンのワーカーが # 台接続しています。}}',
  'settings.tls': '暗号化 (TLS)',
  'settings.tls.switch': 'ほかのマシンとは TLS で通信する',
  'settings.tls.on':
    'ほかのマシンとの通信には https を使います。自身のマシンでは暗号化しない http のままですが、その通信がマシンの外に出ることはありません。',
  'settings.tls.off': 'ほかのマシンとの通信には暗号化しない http を使います。',
  'settings.tls.askOn': 'ほかのマシンと TLS で通信しますか?',
  'settings.tls.askOff': 'ほかのマシンと TLS なしで通信しますか?',
  'settings.tls.turnOn': 'TLS を有効にする',
  'settings.tls.turnOff': 'TLS を無効にする',
  'settings.tls.consequence':
    'ネットワーク経由の接続はすぐに切れます。そのワーカーは学習を続けますが、新しいアドレスを知るまで応答しません。',
  'settings.tls.anew':
    'それぞれを新しい参加コマンド (ワーカー、新しいトークン) で起動し直し、そこではこのページを新しいアドレスで開いてください。',
  'settings.tls.fingerprint': 'フィンガープリント (SHA-256)',
  'settings.tls.pin': 'ピン (ワーカー用)',
  'settings.tls.until': '有効期限',
  'settings.tls.names': '対象',
  'settings.tls.own':
    'この証明書はオーケストレーター自身が作成したものなので、ブラウザーは最初のアクセスで警告します。表示されるフィンガープリントをこれと比べ、同じ場合にだけ先へ進んでください。証明書は自動で更新され、ピンは変わりません。',
  'settings.tls.files': '証明書は、ほかで管理されているファイルのものです。変更されると読み直されます。',
  'settings.share.tls': 'TLS で通信する (推奨)',
  'settings.publicUrl': '公開アドレス (参加コマンド用)',
  'settings.publicUrl.hint':
    'プロキシなど、このサーバー自身とは別のアドレスで接続するマシンのためのものです。空にすると、このマシンのアドレスを使います。',
  'settings.save': '保存',
  'settings.saved': '保存しました。',
  'settings.here': 'このマシン',
  'settings.here.off': 'サーバー自身のマシンではジョブを実行しません。',
  'settings.here.on': 'サーバー自身のマシンでもジョブを実行します。',
  'settings.here.leaving': '実行中のジョブを終えたら、以後は実行しません。',
  'settings.here.turnOn': 'ここでジョブを実行',
  'settings.here.turnOff': 'ここでの実行をやめる',
  'settings.here.onSays':
    'サーバーと並んでワーカーが起動し、ほかのワーカーと同じようにジョブを受け取ります。',
  'settings.here.offSays':
    'オフにすると、学習中のジョブを終えてから離脱します。サーバーが終了しても学習は続き、次の起動時に引き継がれます。',
  'settings.here.gpus': 'GPU',
  'settings.here.gpusHint': '番号をコンマで区切ります。空にすると、すべて使います。',
  'settings.here.trainer': 'ジョブを実行するもの',
  'settings.here.trainerHint':
    '“trainyard worker --trainer” と同じ指定：simpletuner（空の場合も同じ）、kohya=FOLDER などのトレーナー、またはコマンド。',
  'settings.here.trainerElsewhere':
    'サーバーのマシンで実行されるコマンドです。そのマシンのブラウザーでのみ変更できます。',
  'settings.here.restarts': '保存するとワーカーが起動し直されます。実行中の学習は続きます。',
  'settings.folders': 'フォルダー',
  'settings.folders.configs': '学習の設定',
  'settings.folders.data': 'データ',
  'settings.copy': '{text} をコピー',
  'gpuTrouble.title': '故障した GPU と使用中の GPU',
  'gpuTrouble.some': 'ワーカーの GPU のいずれかが次の状態のとき、新しいジョブは渡されません:',
  'gpuTrouble.none': 'GPU に異常があっても、ジョブはワーカーに渡されます。',
  'gpuTrouble.missing': '見つからない、または応答しない',
  'gpuTrouble.errors': '訂正できないメモリエラーがある',
  'gpuTrouble.held': 'ワーカーのものではないプロセスが使用している',
  'gpuTrouble.what':
    'すでに実行中のものには影響しません。そのワーカーしか受けられないジョブは理由を示して待ち、異常が解消するとすぐに渡されます。',
};
