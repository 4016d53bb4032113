import { joinLine, nameWords, scriptLine, whereWords, workerWords } from '../../../protocol/join-line.ts';
import type { WorkerType } from '../../../protocol/worker.ts';

/** All that a worker needs to join. */
export interface Joining {
  /** Of the orchestrator. */
  readonly url: string;
  /** Of its key, where that is its own and nobody else vouches for it. */
  readonly pin: string | null;
  /** Of the worker, or one to join with. */
  readonly token: string;
  readonly name: string;
  readonly type: WorkerType;
  /** SHA-256 of the script that brings the worker there; without one it has to be there already. */
  readonly script?: string | null;
  /** SHA-256 of the worker as one file for Node, for machines that run no scripts of a shell; null where it was not built. */
  readonly bundle?: string | null;
}

/** A shell reads the next line as part of this one. */
const goesOn = ' \\\n  ';

/** What is pasted into a terminal. The token stands before the command: arguments can be read by every user of a machine. */
export const shellCommand = (joining: Joining): string =>
  typeof joining.script === 'string'
    ? joinLine({ ...joining, persistent: joining.type === 'persistent' }, joining.script)
    : plainCommand(joining);

const plainCommand = ({ url, pin, token, name, type }: Joining): string =>
  [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `trainyard worker --orchestrator-url ${shellWord(url)}${pinned(pin)}`,
    `${nameWords(name)}${stay(type)}`,
  ].join(goesOn);

/**
 * The same for SimpleTuner's own worker, which takes a worker token alone, and knows no pins: of a certificate that nobody
 * vouches for it can only be told not to look at it.
 */
export const simpletunerCommand = ({ url, pin, token, name, type }: Joining): string =>
  [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `simpletuner worker --orchestrator-url ${shellWord(url)}${pin === null ? '' : ' --ssl-no-verify'}`,
    `${nameWords(name)}${stay(type)}`,
  ].join(goesOn);

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

/** What is to be done before a program can be started by its name; nothing where it has to be there already. */
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
 * What a rented machine runs when it starts. A stop of the machine reaches the shell alone, which passes it on and waits: the
 * first lets the job end, a second stops it. A worker that crashed is started again; one that has left, or whose start is of
 * no use (docs/workers.md), is not.
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
 * Makes a service of it, from nothing: for the whole machine, or for whoever does it. It is persistent by itself. sudo takes no
 * variables along but those that it is told by name.
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
  ].join(goesOn);
};

/** The same for PowerShell, with the worker as one file for the Node of that machine; null where that was not built. */
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

/** It has no variable of its own. What base64 is made of needs no quotes, in a shell or in a unit. */
const pinned = (pin: string | null): string => (pin === null ? '' : ` --pin ${pin}`);

/** Whether the server can be reached, as curl says it. curl spells pins in its own way. */
export const reachCommand = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  `curl -sS${curlTrust(pin)} ${url}/health/live`;

const curlTrust = (pin: string | null): string =>
  pin === null ? '' : ` -k --pinnedpubkey 'sha256//${pin.slice('sha256:'.length)}'`;

const stay = (type: WorkerType): string => (type === 'persistent' ? ' --persistent' : '');

const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Of PowerShell, where a quote within is written twice; it takes the typographic ones for quotes, too. */
const quoted = (text: string): string => `'${text.replaceAll(/['\u2018-\u201B]/g, '$&$&')}'`;

/** Brings the server's version of the program to a worker that is there; the hash is for those who come without TLS. */
export const updateCommand = (at: Pick<Joining, 'url' | 'pin'>, sums: string): string =>
  `trainyard-worker update ${whereWords(at)} --sums ${sums}`;

/** The same text, with dots for the token. */
export const masked = (text: string, token: string): string => text.replaceAll(token, '•'.repeat(16));

/** Whether an address is one that no other machine can reach. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
