/** Texts about join commands and other devices. They load together with their dialog or topic. */
export const join = {
  'effects.title': 'This command:',
  'effects.download':
    'Downloads the worker from {host}: {size} for {systems}. Other systems need Node 22.19 or newer, and download {small}.',
  'effects.download.one': 'Downloads the worker from {host}: {small}. The machine needs Node 22.19 or newer.',
  'effects.pin': 'Verifies the server by the key in the command, and the worker by its SHA-256.',
  'effects.certificate': 'Verifies the server by its certificate, and the worker by its SHA-256.',
  'effects.hash':
    'Verifies the script and the worker by their SHA-256. The connection is not encrypted: others on the network can read the token. To encrypt it, turn on TLS in Settings > Network.',
  'effects.put': 'Installs the worker in ~/.local/bin. Needs no root.',
  'effects.put.service':
    'Installs the worker in /usr/local/bin with sudo, or into ~/.local/bin for your account only.',
  'effects.start': 'Starts the worker in this terminal. Ctrl+C stops it.',
  'effects.start.service':
    'Installs a service that starts the worker now and after each restart of the machine.',
  'effects.installed': 'Starts the worker that is already installed there. It downloads nothing.',
  'effects.installed.service':
    'Installs a service for the worker that is already installed there. It downloads nothing.',
  'windows.tab': 'Windows',
  'windows.start': 'In this PowerShell window, until you close it or press Ctrl+C:',
  'windows.service': 'As a task that starts whenever you log on:',
  'windows.run':
    'Run one of these lines in PowerShell. It downloads the worker, and runs it only if its SHA-256 is the one in the line.',
  'windows.node':
    'This server has no executable for Windows, so the machine needs Node 22.19 or newer. To build one, run “npm run build:worker -- --all-platforms” in the checkout of the server.',
  'windows.none':
    'This server has no worker program. To build it, run “npm run build:worker -- --all-platforms” in the checkout of the server.',
  'phone.open': 'Open this panel on a phone',
  'phone.explain': 'Scan a QR code to open this panel on a phone in the same network.',
  'phone.private': 'No other device can reach this server yet. Share it in Settings > Network.',
  'phone.network': 'Open the network settings',
  'phone.address': 'Address for the phone',
  'phone.show': 'Show QR code',
  'phone.again': 'New QR code',
  'phone.code': 'QR code with a sign-in link for {host}',
  'phone.code.plain': 'QR code with the address {url}',
  'phone.until':
    'Works once, until {time}. It signs the phone in as {user}, with the same permissions. Show it to nobody else.',
  'phone.over': 'Expired at {time}.',
  'phone.token': 'The phone then asks for a token. Paste one of yours.',
  'phone.warning':
    'The browser of the phone warns about the certificate. Continue only if it shows this fingerprint (SHA-256):',
  'phone.copy': 'Copy sign-in link',
} as const satisfies Readonly<Record<string, string>>;

export type JoinKey = keyof typeof join;
