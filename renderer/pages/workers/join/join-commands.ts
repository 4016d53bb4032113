import { joinLine, nameWords, scriptLine, whereWords, workerWords } from '../../../../protocol/join-line.ts';
import type { WorkerType } from '../../../../protocol/worker.ts';

/** Everything that a worker needs to join. */
export interface Joining {
  /** URL of the orchestrator. */
  readonly url: string;
  /** Hash of the orchestrator's key, when its certificate is self-signed. */
  readonly pin: string | null;
  /** A worker token or a join token. */
  readonly token: string;
  readonly name: string;
  readonly type: WorkerType;
  /** SHA-256 of the install script; without one, the worker program must be installed already. */
  readonly script?: string | null;
  /** SHA-256 of the worker as one file for Node, for machines without a POSIX shell; null when it was not built. */
  readonly bundle?: string | null;
}

/** Continues the command on the next line. */
const continued = ' \\\n  ';

/**
 * The command to paste into a terminal. The token is an environment variable: every user of the machine can read the arguments of a
 * process.
 */
export const shellCommand = (joining: Joining): string =>
  typeof joining.script === 'string'
    ? joinLine({ ...joining, persistent: joining.type === 'persistent' }, joining.script)
    : plainCommand(joining);

const plainCommand = ({ url, pin, token, name, type }: Joining): string =>
  [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `trainyard worker --orchestrator-url ${shellWord(url)}${pinned(pin)}`,
    `${nameWords(name)}${persistentFlag(type)}`,
  ].join(continued);

/**
 * The command for SimpleTuner's own worker, which needs a worker token and supports no pins. With a self-signed certificate, it can only
 * skip verification.
 */
export const simpletunerCommand = ({ url, pin, token, name, type }: Joining): string =>
  [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `simpletuner worker --orchestrator-url ${shellWord(url)}${pin === null ? '' : ' --ssl-no-verify'}`,
    `${nameWords(name)}${persistentFlag(type)}`,
  ].join(continued);

const variables = ({ url, token, name, type }: Joining): readonly string[] => [
  `export SIMPLETUNER_ORCHESTRATOR_URL=${shellWord(url)}`,
  `export SIMPLETUNER_WORKER_TOKEN=${token}`,
  `export SIMPLETUNER_WORKER_NAME=${shellWord(name)}`,
  ...(type === 'persistent' ? ['export SIMPLETUNER_WORKER_PERSISTENT=true'] : []),
];

export const environmentCommands = (joining: Joining): string =>
  [
    ...variables(joining),
    typeof joining.script === 'string'
      ? scriptLine(joining, { sha256: joining.script, words: whereWords(joining) })
      : `trainyard worker${pinned(joining.pin)}`,
  ].join('\n');

/** Commands that install the program; empty when it must be installed already. */
const installed = (joining: Joining): readonly string[] =>
  typeof joining.script === 'string'
    ? [
        scriptLine(joining, {
          sha256: joining.script,
          words: `--install-only ${whereWords(joining)}`,
        }),
      ]
    : [];

const hasScript = ({ script }: Joining): boolean => typeof script === 'string';

/**
 * The start script of a rented machine. A shutdown signals only the shell, which forwards it and waits: the first signal lets the job
 * finish, a second one stops it. The script restarts a crashed worker, but not one that left or that cannot start (docs/workers.md).
 */
export const podScript = (joining: Joining): string =>
  `#!/bin/sh
${variables(joining).join('\n')}
${installed(joining)
  .map(line => `${line} || exit 1\n`)
  .join('')}trap 'kill -TERM "$worker"' TERM INT
while :; do
  ${hasScript(joining) ? '"$HOME/.local/bin/trainyard-worker"' : 'trainyard worker'}${pinned(joining.pin)} &
  worker=$!
  wait "$worker"
  code=$?
  while kill -0 "$worker" 2>/dev/null; do
    wait "$worker"
    code=$?
  done
  case $code in 0 | 2 | 3 | 73) exit "$code" ;; esac
  sleep 5
done
`;

/**
 * Installs the worker as a service, for the whole machine or for the current user. A service is always persistent. sudo passes on only the
 * variables that are named.
 */
export const serviceCommand = (joining: Joining, isForAll: boolean): string => {
  const { url, pin, token, name, script } = joining;
  if (typeof script === 'string')
    return scriptLine(joining, {
      sha256: script,
      words: `--token-stdin ${isForAll ? '--dir /usr/local/bin ' : ''}install-service ${workerWords({ url, pin, name, persistent: false })}`,
      token,
      asRoot: isForAll,
    });
  const asRoot = isForAll ? 'sudo --preserve-env=SIMPLETUNER_WORKER_TOKEN ' : '';
  return [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `${asRoot}trainyard worker install-service --orchestrator-url ${shellWord(url)}${pinned(pin)}`,
    nameWords(name),
  ].join(continued);
};

/** The commands for PowerShell, with the worker as one file for the machine's Node; null when it was not built. */
export const windowsCommands = ({ url, pin, token, name, bundle }: Joining): string | null =>
  typeof bundle === 'string'
    ? [
        `$env:SIMPLETUNER_WORKER_TOKEN = ${quoted(token)}`,
        `$env:SIMPLETUNER_ORCHESTRATOR_URL = ${quoted(url)}`,
        `$env:SIMPLETUNER_WORKER_NAME = ${quoted(name)}`,
        String.raw`$worker = "$env:LOCALAPPDATA\trainyard-worker.mjs"`,
        `curl.exe -gfsS${curlTrust(pin)} -o $worker ${quoted(`${url}/agent/trainyard-worker.mjs`)}`,
        `if ((Get-FileHash $worker).Hash -eq '${bundle}') { node $worker install-service${pinned(pin)} }`,
        "else { Write-Error 'This is not the worker that this was made for: nothing was done' }",
        'Remove-Item Env:SIMPLETUNER_WORKER_TOKEN',
      ].join('\n')
    : null;

/** The pin has no environment variable. Base64 needs no quotes, in a shell or in a unit file. */
const pinned = (pin: string | null): string => (pin === null ? '' : ` --pin ${pin}`);

/** Tests with curl whether the server is reachable; curl has its own notation for pins. */
export const reachCommand = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  `curl -sS${curlTrust(pin)} ${url}/health/live`;

const curlTrust = (pin: string | null): string =>
  pin === null ? '' : ` -k --pinnedpubkey 'sha256//${pin.slice('sha256:'.length)}'`;

const persistentFlag = (type: WorkerType): string => (type === 'persistent' ? ' --persistent' : '');

const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Quotes for PowerShell: inner quotes are doubled, and typographic quotes count as quotes too. */
const quoted = (text: string): string => `'${text.replaceAll(/['\u2018-\u201B]/g, '$&$&')}'`;

/** Updates the installed worker to the server's version. The hash protects connections without TLS. */
export const updateCommand = (at: Pick<Joining, 'url' | 'pin'>, sums: string): string =>
  `trainyard-worker update ${whereWords(at)} --sums ${sums}`;

/** Replaces the token with dots. */
export const masked = (text: string, token: string): string => text.replaceAll(token, '•'.repeat(16));

/** Returns true for an address that other machines cannot reach. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
