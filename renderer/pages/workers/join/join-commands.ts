import {
  addressArguments,
  isVerifiable,
  joinLine,
  nameArgument,
  pipedLine,
  scriptLine,
  shortLine,
  workerArguments,
} from '../../../../protocol/join-line.ts';
import type { WorkerType } from '../../../../protocol/worker.ts';

/** The data for joining: the values in the commands that connect a worker. */
export interface Joining {
  /** URL of the orchestrator. */
  readonly url: string;
  /** Hash of the server's public key if its certificate is self-signed; otherwise null. */
  readonly pin: string | null;
  /** A worker token or a join token. */
  readonly token: string;
  readonly name: string;
  readonly type: WorkerType;
  /** SHA-256 of the install script; null or missing if the worker program must already be installed. */
  readonly script?: string | null;
  /** True if the server provides a script for short commands. Older servers do not. */
  readonly isShort?: boolean;
  /**
   * SHA-256 of the worker as a single file for Node, for machines without a POSIX shell. Null if the server has none.
   */
  readonly bundle?: string | null;
  /** SHA-256 of the worker as an executable for Windows. Null if the server has none. */
  readonly windowsExecutable?: string | null;
}

/** Line continuation between two arguments. */
const lineContinuation = ' \\\n  ';

/**
 * Returns the command to paste into a terminal. The command passes the token as an environment variable, because every
 * user of the machine can read the arguments of a process.
 */
export function shellCommand(joining: Joining): string {
  const { script, isShort, type } = joining;
  if (typeof script !== 'string') return plainCommand(joining);
  const whole = { ...joining, persistent: type === 'persistent' };
  return (isShort === true ? shortLine(whole) : null) ?? joinLine(whole, script);
}

/** Returns true if curl verifies the server, so that a command can be short. */
const canPipe = ({ url, isShort }: Pick<Joining, 'url' | 'isShort'>): boolean =>
  isShort === true && isVerifiable(url);

const plainCommand = ({ url, pin, token, name, type }: Joining): string =>
  [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `trainyard worker --orchestrator-url ${shellWord(url)}${pinOption(pin)}`,
    `${nameArgument(name)}${persistentFlag(type)}`,
  ].join(lineContinuation);

/**
 * Returns the command for SimpleTuner's own worker. This worker needs a worker token and supports no pins. So the command
 * skips verification if the certificate is self-signed.
 */
export const simpletunerCommand = ({ url, pin, token, name, type }: Joining): string =>
  [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `simpletuner worker --orchestrator-url ${shellWord(url)}${pin === null ? '' : ' --ssl-no-verify'}`,
    `${nameArgument(name)}${persistentFlag(type)}`,
  ].join(lineContinuation);

const variables = ({ url, token, name, type }: Joining): readonly string[] => [
  `export SIMPLETUNER_ORCHESTRATOR_URL=${shellWord(url)}`,
  `export SIMPLETUNER_WORKER_TOKEN=${token}`,
  `export SIMPLETUNER_WORKER_NAME=${shellWord(name)}`,
  ...(type === 'persistent' ? ['export SIMPLETUNER_WORKER_PERSISTENT=true'] : []),
];

/** Returns the commands that set environment variables and then start the worker. */
export const environmentCommands = (joining: Joining): string =>
  [...variables(joining), environmentStart(joining)].join('\n');

function environmentStart(joining: Joining): string {
  if (typeof joining.script !== 'string') return `trainyard worker${pinOption(joining.pin)}`;
  if (canPipe(joining)) return pipedLine(joining, { args: '' });
  return scriptLine(joining, { sha256: joining.script, args: addressArguments(joining) });
}

/** Returns the commands that install the worker program; none if the program must already be installed. */
const installLines = (joining: Joining): readonly string[] =>
  typeof joining.script === 'string'
    ? [
        scriptLine(joining, {
          sha256: joining.script,
          args: `--install-only ${addressArguments(joining)}`,
        }),
      ]
    : [];

const hasScript = ({ script }: Joining): boolean => typeof script === 'string';

/**
 * Returns the start script for a rented machine. At shutdown, only the shell receives the signal. So the script forwards
 * the signal and waits: the first signal lets the job finish, and a second signal stops the job. The script restarts a
 * worker that crashed, but not a worker that left or cannot start (docs/workers.md).
 */
export const podScript = (joining: Joining): string =>
  `#!/bin/sh
${variables(joining).join('\n')}
${installLines(joining)
  .map(line => `${line} || exit 1\n`)
  .join('')}trap 'kill -TERM "$worker"' TERM INT
while :; do
  ${hasScript(joining) ? '"$HOME/.local/bin/trainyard-worker"' : 'trainyard worker'}${pinOption(joining.pin)} &
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
 * Returns the command that installs the worker as a service, for the whole machine or for the current user. A service is
 * always persistent. The command names the token's variable, because sudo passes on only named variables.
 */
export const serviceCommand = (joining: Joining, isForAll: boolean): string => {
  const { url, pin, token, name, script } = joining;
  const folder = isForAll ? '--dir /usr/local/bin ' : '';
  if (typeof script === 'string' && canPipe(joining))
    return pipedLine(joining, {
      args: `${folder}install-service ${nameArgument(name)}`,
      token,
      asRoot: isForAll,
    });
  if (typeof script === 'string')
    return scriptLine(joining, {
      sha256: script,
      args: `--token-stdin ${folder}install-service ${workerArguments({ url, pin, name, persistent: false })}`,
      token,
      asRoot: isForAll,
    });
  const asRoot = isForAll ? 'sudo --preserve-env=SIMPLETUNER_WORKER_TOKEN ' : '';
  return [
    `SIMPLETUNER_WORKER_TOKEN=${token}`,
    `${asRoot}trainyard worker install-service --orchestrator-url ${shellWord(url)}${pinOption(pin)}`,
    nameArgument(name),
  ].join(lineContinuation);
};

/**
 * Returns the option with the pin, because there is no environment variable for pins. A pin is Base64, which needs no
 * quotes in shells and unit files.
 */
export const pinOption = (pin: string | null): string => (pin === null ? '' : ` --pin ${pin}`);

/** Returns a curl command that tests whether the server is reachable. */
export const reachCommand = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  `curl -sS${curlTrust(pin)} ${url}/health/live`;

/** Returns the curl options that verify the server. curl has its own format for pins. */
export const curlTrust = (pin: string | null): string =>
  pin === null ? '' : ` -k --pinnedpubkey 'sha256//${pin.slice('sha256:'.length)}'`;

const persistentFlag = (type: WorkerType): string => (type === 'persistent' ? ' --persistent' : '');

const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Returns the command with dots instead of the token. */
export const maskToken = (text: string, token: string): string => text.replaceAll(token, '•'.repeat(16));

/** Returns true for a host name or address that only the same machine can reach. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
