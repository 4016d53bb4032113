/** Plans how the agent of this machine starts and restarts. */

/** The owner's settings for the agent on this machine. Null selects the agent's default. */
export interface LocalWorkerSettings {
  /** Comma-separated GPU numbers, as in the agent's `--gpus`. */
  readonly gpus: string | null;
  readonly trainer: string | null;
  readonly workDir: string | null;
}

export interface AgentLocation {
  /** URL at which clients on this machine reach the orchestrator. */
  readonly url: string;
  readonly name: string;
  /** Folder for the agent's state, and for jobs unless `workDir` is set. */
  readonly stateDir: string;
  /** Value of the agent's `--allow-config-scripts`; null for none. */
  readonly allowConfigScripts: string | null;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Returns the contents of the agent's config file, keyed by option name (docs/workers.md). */
export function agentFile(
  { gpus, trainer, workDir }: LocalWorkerSettings,
  { url, name, stateDir, allowConfigScripts }: AgentLocation,
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

/**
 * Environment variables that are not passed to the agent, because they would override its config file or contain secrets of the
 * server.
 */
const withheldVariables = [
  'ADMIN_TOKEN',
  'SIMPLETUNER_ORCHESTRATOR_URL',
  'SIMPLETUNER_WORKER_NAME',
  'SIMPLETUNER_WORKER_PERSISTENT',
];

/** Returns the environment of the agent. It contains the token, because every user of the machine can read arguments. */
export function agentEnvironment(env: Variables, token: string): Variables {
  const passedOn = Object.entries(env).filter(([name]) => !withheldVariables.includes(name));
  return { ...Object.fromEntries(passedOn), SIMPLETUNER_WORKER_TOKEN: token };
}

/** The end of an agent process. */
export interface Ending {
  /** Null when a signal ended the process or it could not start. */
  readonly code: number | null;
  readonly livedMs: number;
}

export interface RestartPlan {
  /** Delay before the restart, in milliseconds. */
  readonly inMs: number;
  /** Number of consecutive processes, including this one, that ended soon after their start. */
  readonly failures: number;
  /** True if the agent needs a new token. */
  readonly needsToken: boolean;
}

/** The agent's exit codes (docs/workers.md). */
const exitCodes = { usage: 2, tokenRefused: 3, stateInUse: 73 } as const;

/** Delay after the first failure. It doubles with each further failure, up to `maxMs`. */
const firstMs = 1_000;
const maxMs = 60_000;
/** Delay after exit code 2. */
const usageMs = 300_000;
/** Maximum delay after exit code 73. */
const inUseMs = 5_000;
/** If a process ran for this long, its start was successful. */
const stableMs = 60_000;

/**
 * Plans the restart of an agent process. The process is always restarted, because only the orchestrator's settings decide whether
 * this machine runs jobs. Exit code 0 means that another process of the agent replaces it. Other exit codes:
 *
 * - 2: wrong options or a rejected registration. A later start can succeed, because GPUs may appear late after a boot.
 * - 3: the token was rotated or the worker deleted.
 * - 73: the agent of a killed orchestrator still uses the state folder and is about to exit.
 */
export function planRestart({ code, livedMs }: Ending, failuresBefore: number): RestartPlan {
  const failures = livedMs >= stableMs ? 0 : failuresBefore + 1;
  const backoffMs = Math.min(maxMs, firstMs * 2 ** Math.max(0, Math.min(failures, 30) - 1));
  const needsToken = code === exitCodes.tokenRefused;
  if (code === exitCodes.usage) return { inMs: usageMs, failures, needsToken };
  const inMs = code === exitCodes.stateInUse ? Math.min(inUseMs, backoffMs) : backoffMs;
  return { inMs, failures, needsToken };
}

/** Converts the host name to a worker name: one line of printable ASCII, at most 80 characters. */
export function workerNameOf(hostname: string): string {
  const name = hostname
    .replaceAll(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, 80);
  return name === '' ? 'this-machine' : name;
}
