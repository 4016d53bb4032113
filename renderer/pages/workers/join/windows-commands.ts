import { curlTrust, type Joining, pinOption } from './join-commands.ts';

/** The ways to run the worker on Windows: in the terminal, or as a task of the task scheduler. */
export type WindowsWay = 'start' | 'service';

/**
 * Returns one line for PowerShell 5.1 or newer; null if the server has no worker for Windows. The line contains the
 * SHA-256 of the worker, so it verifies the download even without TLS. It downloads the executable for Windows or, if the
 * server has none, the single file for an installed Node.
 */
export function windowsCommand(joining: Joining, way: WindowsWay): string | null {
  const { url, pin, token, name, type, bundle, windowsExecutable } = joining;
  const program =
    typeof windowsExecutable === 'string'
      ? { remote: 'trainyard-worker-win32-x64.exe', local: 'trainyard-worker.exe', sha256: windowsExecutable }
      : typeof bundle === 'string'
        ? { remote: 'trainyard-worker.mjs', local: 'trainyard-worker.mjs', sha256: bundle }
        : null;
  if (program === null) return null;
  const runner = program.local.endsWith('.exe') ? '& $w' : 'node $w';
  const verb = { start: type === 'persistent' ? ' --persistent' : '', service: ' install-service' }[way];
  // Pass name and URL as variables, because PowerShell 5.1 changes quotes in arguments of programs. The token is also a
  // variable, because every user of the machine can read arguments.
  const variables = [
    ['SIMPLETUNER_WORKER_TOKEN', token],
    ['SIMPLETUNER_ORCHESTRATOR_URL', url],
    ['SIMPLETUNER_WORKER_NAME', name],
  ] as const;
  const statements = [
    "$ErrorActionPreference = 'Stop'",
    String.raw`$d = "$env:LOCALAPPDATA\trainyard"`,
    `$w = "$d\\${program.local}"`,
    '[void](New-Item -ItemType Directory -Force $d)',
    `curl.exe -gfsS${curlTrust(pin)} -o "$w.new" ${powershellQuoted(`${url}/agent/${program.remote}`)}`,
    "if ($LASTEXITCODE -ne 0) { throw 'The worker could not be downloaded. Nothing was installed.' }",
    `if ((Get-FileHash -Algorithm SHA256 "$w.new").Hash -ne '${program.sha256}') ` +
      `{ Remove-Item "$w.new"; throw 'The downloaded worker does not match its checksum. Nothing was installed.' }`,
    'Move-Item -Force "$w.new" $w',
    ...variables.map(([variable, value]) => `$env:${variable} = ${powershellQuoted(value)}`),
    `try { ${runner}${verb}${pinOption(pin)} } ` +
      `finally { Remove-Item ${variables.map(([variable]) => `Env:${variable}`).join(', ')} }`,
  ];
  return `& { ${statements.join('; ')} }`;
}

/** Quotes a text for PowerShell. Doubles inner quotes, including typographic quotes, which PowerShell treats as quotes. */
const powershellQuoted = (text: string): string => `'${text.replaceAll(/['\u2018-\u201B]/g, '$&$&')}'`;
