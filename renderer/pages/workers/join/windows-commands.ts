import { curlTrust, type Joining, pinOption } from './join-commands.ts';

/**
 * Returns the commands for PowerShell, which run the worker as a single file in the machine's own Node; null when the
 * server has no such file.
 */
export const windowsCommands = ({ url, pin, token, name, bundle }: Joining): string | null =>
  typeof bundle === 'string'
    ? [
        `$env:SIMPLETUNER_WORKER_TOKEN = ${powershellQuoted(token)}`,
        `$env:SIMPLETUNER_ORCHESTRATOR_URL = ${powershellQuoted(url)}`,
        `$env:SIMPLETUNER_WORKER_NAME = ${powershellQuoted(name)}`,
        String.raw`$worker = "$env:LOCALAPPDATA\trainyard-worker.mjs"`,
        `curl.exe -gfsS${curlTrust(pin)} -o $worker ${powershellQuoted(`${url}/agent/trainyard-worker.mjs`)}`,
        `if ((Get-FileHash $worker).Hash -eq '${bundle}') { node $worker install-service${pinOption(pin)} }`,
        "else { Write-Error 'The downloaded worker does not match its checksum. Nothing was installed.' }",
        'Remove-Item Env:SIMPLETUNER_WORKER_TOKEN',
      ].join('\n')
    : null;

/** Quotes a text for PowerShell, which doubles inner quotes and also treats typographic quotes as quotes. */
const powershellQuoted = (text: string): string => `'${text.replaceAll(/['\u2018-\u201B]/g, '$&$&')}'`;
