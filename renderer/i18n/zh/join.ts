import type { JoinKey } from '../en/join.ts';

export const join: Readonly<Record<JoinKey, string>> = {
  'effects.title': '此命令会：',
  'effects.download':
    '从 {host} 下载工作节点程序：{systems} 为 {size}。其他系统需要 Node 22.19，下载 {small}。',
  'effects.download.one': '从 {host} 下载工作节点程序：{small}。该机器需要 Node 22.19。',
  'effects.pin': '只接受持有此密钥的服务器，并校验工作节点程序的 SHA-256。',
  'effects.certificate': '校验服务器的证书和工作节点程序的 SHA-256。',
  'effects.hash': '校验脚本和工作节点程序的 SHA-256。连接未加密。启用 TLS（设置，网络）后，命令会短得多。',
  'effects.put': '将工作节点程序放入 ~/.local/bin，不需要 root。',
  'effects.put.service': '用 sudo 放入 /usr/local/bin，或仅为您的账户放入 ~/.local/bin。',
  'effects.start': '在此终端中启动工作节点，按 Ctrl+C 停止。',
  'effects.start.service': '安装服务，现在以及机器每次重启后都会启动工作节点。',
  'effects.installed': '启动那里已安装的工作节点程序，不下载任何内容。',
  'effects.installed.service': '为那里已安装的工作节点程序安装服务，不下载任何内容。',
  'windows.tab': 'Windows',
  'windows.start': '在此 PowerShell 窗口中运行，直到关闭窗口或按 Ctrl+C：',
  'windows.service': '作为计划任务，每次登录时启动：',
  'windows.run': '在 PowerShell 中运行下面的一行命令。它会下载 worker，仅当 SHA-256 与命令中的一致时才运行。',
  'windows.node':
    '此服务器没有 Windows 可执行文件，因此该机器需要 Node 22.19 或更高版本。要构建它，请在服务器的源代码目录中运行“npm run build:worker -- --all-platforms”。',
  'windows.none':
    '此服务器没有 worker 程序。要构建它，请在服务器的源代码目录中运行“npm run build:worker -- --all-platforms”。',
  'phone.open': '在手机上查看',
  'phone.explain': '扫描二维码，在同一网络中的手机上打开此面板。',
  'phone.private': '其他设备还无法访问此服务器。请在“设置”的“网络”中共享。',
  'phone.network': '打开网络设置',
  'phone.address': '手机使用的地址',
  'phone.show': '显示二维码',
  'phone.again': '新的二维码',
  'phone.code': '二维码：{host} 的登录链接',
  'phone.code.plain': '二维码：地址 {url}',
  'phone.until': '只能使用一次，有效期至 {time}。手机将以 {user} 的身份登录，权限相同。请勿向他人展示。',
  'phone.over': '已于 {time} 过期。',
  'phone.token': '之后手机会要求输入令牌。',
  'phone.warning': '手机浏览器会对证书发出警告。仅当显示的指纹 (SHA-256) 与此一致时才继续：',
  'phone.copy': '复制登录链接',
};
