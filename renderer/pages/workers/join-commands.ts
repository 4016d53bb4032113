import { joinLine, scriptLine, whereWords } from '../../../protocol/join-line.ts';
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
}

/** A shell, and systemd, read the next line as part of this one. */
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
    `--name ${shellWord(name)}${stay(type)}`,
  ].join(goesOn);

/**
 * The same for SimpleTuner's own worker, which takes a worker token alone, and knows no pins: of a certificate that nobody
 * vouches for it can only be told not to look at it.
 */
export const simpletunerCommand = ({ url, pin, token, name, type }: Joining): string =>
  [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `simpletuner worker --orchestrator-url ${shellWord(url)}${pin === null ? '' : ' --ssl-no-verify'}`,
    `--name ${shellWord(name)}${stay(type)}`,
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
const installed = (joining: Joining, more: string, asRoot = false): readonly string[] =>
  typeof joining.script === 'string'
    ? [
        scriptLine(joining, {
          sha256: joining.script,
          words: `--install-only${more} ${whereWords(joining)}`,
          asRoot,
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
${installed(joining, '')
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

const tokenFile = '/etc/trainyard/worker.token';

/** Puts the program and the token where the unit below looks for them; the token for root's eyes only. */
export const tokenCommand = (joining: Joining): string =>
  [
    ...installed(joining, ` --dir ${programFolder}`, true),
    `printf %s ${joining.token} | sudo install -D -m 600 /dev/stdin ${tokenFile}`,
  ].join('\n');

const programFolder = '/usr/local/bin';

/** Stopping the service leaves the training alone; docs/workers.md says why each line is there. */
export const systemdUnit = ({ url, pin, name, type, script }: Joining): string =>
  `[Unit]
Description=Trainyard worker ${unitText(name)}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=${typeof script === 'string' ? `${programFolder}/trainyard-worker` : '/usr/bin/env trainyard worker'}${goesOn}--orchestrator-url ${unitWord(url)}${pinned(pin)}${goesOn}--worker-token-file ${tokenFile}${goesOn}--name ${unitWord(name)}${stay(type)}
KillMode=process
KillSignal=SIGUSR2
OOMPolicy=continue
Restart=on-failure
RestartPreventExitStatus=2 3 73

[Install]
WantedBy=multi-user.target
`;

/** It has no variable of its own. What base64 is made of needs no quotes, in a shell or in a unit. */
const pinned = (pin: string | null): string => (pin === null ? '' : ` --pin ${pin}`);

/** Whether the server can be reached, as curl says it. curl spells pins in its own way. */
export const reachCommand = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string => {
  const trust = pin === null ? '' : ` -k --pinnedpubkey 'sha256//${pin.slice('sha256:'.length)}'`;
  return `curl -sS${trust} ${url}/health/live`;
};

const stay = (type: WorkerType): string => (type === 'persistent' ? ' --persistent' : '');

const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** systemd replaces what stands behind a percent sign. */
const unitText = (text: string): string => text.replaceAll('%', '%%');

const unitWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text)
    ? text
    : `"${unitText(text)
        .replaceAll('\\', String.raw`\\`)
        .replaceAll('"', String.raw`\"`)
        .replaceAll('$', '$$$$')}"`;

/** Brings the server's version of the program to a worker that is there; the hash is for those who come without TLS. */
export const updateCommand = (at: Pick<Joining, 'url' | 'pin'>, sums: string): string =>
  `trainyard-worker update ${whereWords(at)} --sums ${sums}`;

/** The same text, with dots for the token. */
export const masked = (text: string, token: string): string => text.replaceAll(token, '•'.repeat(16));

/** Whether an address is one that no other machine can reach. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
