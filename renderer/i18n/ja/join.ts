import type { JoinKey } from '../en/join.ts';

export const join: Readonly<Record<JoinKey, string>> = {
  'effects.title': 'このコマンドの動作:',
  'effects.download':
    '{host} からワーカーをダウンロードします。{systems} では {size} です。ほかのシステムには Node 22.19 が必要で、{small} をダウンロードします。',
  'effects.download.one':
    '{host} からワーカー ({small}) をダウンロードします。マシンには Node 22.19 が必要です。',
  'effects.pin': 'この鍵を持つサーバーだけを受け入れ、ワーカーの SHA-256 を検証します。',
  'effects.certificate': 'サーバーの証明書と、ワーカーの SHA-256 を検証します。',
  'effects.hash':
    'スクリプトとワーカーの SHA-256 を検証します。通信は暗号化されません。TLS (設定の「ネットワーク」) を使うと、コマンドはずっと短くなります。',
  'effects.put': 'ワーカーを ~/.local/bin に置きます。root は不要です。',
  'effects.put.service': 'sudo で /usr/local/bin に、または自分のアカウント用に ~/.local/bin に置きます。',
  'effects.start': 'このターミナルでワーカーを起動します。Ctrl+C で停止します。',
  'effects.start.service':
    'サービスをインストールします。ワーカーは今すぐ、またマシンの再起動のたびに起動します。',
  'effects.installed': 'そのマシンにインストール済みのワーカーを起動します。何もダウンロードしません。',
  'effects.installed.service':
    'そのマシンにインストール済みのワーカーのサービスをインストールします。何もダウンロードしません。',
  'windows.tab': 'Windows',
  'windows.start': 'この PowerShell ウィンドウで実行します (閉じるか Ctrl+C を押すまで):',
  'windows.service': 'ログオンのたびに開始するタスクとして実行します:',
  'windows.run':
    'PowerShell で次のどちらか 1 行を実行します。worker をダウンロードし、SHA-256 が行の値と一致する場合だけ実行します。',
  'windows.node':
    'このサーバーには Windows 用の実行ファイルがないため、マシンに Node 22.19 以降が必要です。作成するには、サーバーのソースフォルダーで「npm run build:worker -- --all-platforms」を実行します。',
  'windows.none':
    'このサーバーには worker プログラムがありません。作成するには、サーバーのソースフォルダーで「npm run build:worker -- --all-platforms」を実行します。',
  'phone.open': 'スマートフォンで見る',
  'phone.explain': 'QR コードを読み取ると、同じネットワークのスマートフォンでこのパネルを開けます。',
  'phone.private': 'ほかの端末はまだこのサーバーに接続できません。設定の「ネットワーク」で共有してください。',
  'phone.network': 'ネットワークの設定を開く',
  'phone.address': 'スマートフォン用のアドレス',
  'phone.show': 'QR コードを表示',
  'phone.again': '新しい QR コード',
  'phone.code': '{host} のサインインリンクの QR コード',
  'phone.code.plain': 'アドレス {url} の QR コード',
  'phone.until':
    '{time} まで、1 回だけ使えます。スマートフォンは {user} として、同じ権限でサインインします。ほかの人に見せないでください。',
  'phone.over': '{time} に期限が切れました。',
  'phone.token': 'その後、スマートフォンでトークンの入力が必要です。',
  'phone.warning':
    'スマートフォンのブラウザーは証明書について警告します。次のフィンガープリント (SHA-256) と一致する場合だけ続けてください:',
  'phone.copy': 'サインインリンクをコピー',
};
