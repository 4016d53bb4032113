/** What the agent of this machine is started with, and when it is started again: no effects. */

/** What the owner of this machine says of its agent; null where nothing was said. */
export interface LocalWorkerSettings {
  /** As in the agent's `--gpus`: numbers with commas between them. */
  readonly gpus: string | null;
  readonly trainer: string | null;
  readonly workDir: string | null;
}

export interface Place {
  /** Where this orchestrator is to be reached from its own machine. */
  readonly url: string;
  readonly name: string;
  /** The agent's state; jobs are kept below it unless told otherwise. */
  readonly stateDir: string;
  /** As in the agent's `--allow-config-scripts`; null for none. */
  readonly allowConfigScripts: string | null;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The agent's config file, by the names of its options (docs/workers.md). */
export function agentFile(
  { gpus, trainer, workDir }: LocalWorkerSettings,
  { url, name, stateDir, allowConfigScripts }: Place,
): Readonly<Record<string, unknown>> {
  return {
    'orchestrator-url': url,
    name,
    persistent: true,
    'leave-with-parent': true,
    'state-dir': stateDir,
    ...(gpus !== null && { gpus }),
    ...(trainer !== null && { trainer }),
    ...(workDir !== null && { 'work-dir': workDir }),
    ...(allowConfigScripts !== null && { 'allow-config-scripts': allowConfigScripts }),
  };
}

/** What would count for more than the file, or is meant for others: the agent is to know its own token alone. */
const notForTheAgent = [
  'ADMIN_TOKEN',
  'SIMPLETUNER_ORCHESTRATOR_URL',
  'SIMPLETUNER_WORKER_NAME',
  'SIMPLETUNER_WORKER_PERSISTENT',
];

/** The token goes through the environment: arguments can be read by every user of the machine. */
export function agentEnvironment(env: Variables, token: string): Variables {
  const kept = Object.entries(env).filter(([name]) => !notForTheAgent.includes(name));
  return { ...Object.fromEntries(kept), SIMPLETUNER_WORKER_TOKEN: token };
}

/** How a process of the agent ended. */
export interface Ending {
  /** Null when a signal ended it, or when it could not even be started. */
  readonly code: number | null;
  readonly livedMs: number;
}

export interface Sequel {
  /** After so long it is started again. */
  readonly inMs: number;
  /** Ends soon after a start, one after the other. */
  readonly failures: number;
  /** Whether the token that it has is of no use any more. */
  readonly needsToken: boolean;
}

/** As in docs/workers.md. */
const exitCodes = { usage: 2, tokenRefused: 3, stateInUse: 73 } as const;

const firstMs = 1_000;
const mostMs = 60_000;
const usageMs = 300_000;
const inUseMs = 5_000;
/** Whatever ended one that had lived for so long, it was not its start. */
const wellMs = 60_000;

/**
 * It is always started again: whether this machine works at all is decided by the orchestrator's own settings, so one
 * that has left as asked (0) was asked to make room for its next process.
 *
 * - 2: wrong options or a refused introduction heal seldom, but they do: GPUs may appear after the machine's start.
 * - 3: somebody rotated the token, or deleted the worker.
 * - 73: an agent of an orchestrator that was killed is about to leave.
 */
export function planRestart({ code, livedMs }: Ending, failuresBefore: number): Sequel {
  const failures = livedMs >= wellMs ? 0 : failuresBefore + 1;
  const backoffMs = Math.min(mostMs, firstMs * 2 ** Math.max(0, Math.min(failures, 30) - 1));
  const needsToken = code === exitCodes.tokenRefused;
  if (code === exitCodes.usage) return { inMs: usageMs, failures, needsToken };
  const inMs = code === exitCodes.stateInUse ? Math.min(inUseMs, backoffMs) : backoffMs;
  return { inMs, failures, needsToken };
}

/** The host's name as one for a worker: one line of text, and not too long. */
export function workerNameOf(hostname: string): string {
  const name = hostname
    .replaceAll(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, 80);
  return name === '' ? 'this-machine' : name;
}
