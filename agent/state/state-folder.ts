import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptId, JobId } from '../../protocol/ids.ts';
import { StatusReport, type StatusReportBody } from '../../protocol/worker-api.ts';
import { readReportFields, type RunFolder, writeReport } from '../guard/guard-files.ts';
import { readFields, showWhole, writeWhole } from '../files/whole-file.ts';
import { pause } from '../retry/retry.ts';
import type { Clock } from '../clock.ts';
import { isRunning, type Processes, type ProcessRef, refOf } from '../process/processes.ts';

/** The final report of an attempt. It stays on disk until the orchestrator has acknowledged it. */
export interface FinalReport {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /** The body of the status report, as sent. */
  readonly body: StatusReportBody;
}

/**
 * State that must outlive the agent process, readable only by its owner.
 *
 *     lock           the process that uses the folder
 *     instance       a random id of this worker on this machine
 *     registered     empty; exists once an orchestrator has accepted this worker
 *     token          the tokens from joining (worker-token.ts)
 *     update         how often the last update was started (try-book.ts)
 *     runs/ATTEMPT/  the files of a run (guard-files.ts)
 *     outputs/       the attempts with pending uploads (attempt-outputs.ts)
 *     images/        images from the event files of those attempts (event-images/)
 */
export interface StateFolder {
  /** A random id, different for each machine and worker name. It survives restarts. */
  readonly instanceId: string;
  /** Contains one folder per attempt. */
  readonly runsDir: string;
  readonly outputsDir: string;
  readonly imagesDir: string;
  readonly registrations: Registrations;
  runOf(attemptId: AttemptId): RunFolder;
  /** Throws when the report cannot be written to disk. */
  keepReport(report: FinalReport): void;
  /** Removes the folder of the run, after the orchestrator has acknowledged the report. */
  dropReport(attemptId: AttemptId): void;
}

export function openStateFolder(dir: string): StateFolder {
  const runsDir = join(dir, 'runs');
  mkdirSync(runsDir, { recursive: true, mode: 0o700 });
  const runOf = (attemptId: AttemptId): RunFolder => ({ path: join(runsDir, attemptId) });
  return {
    instanceId: instanceOf(join(dir, 'instance')),
    runsDir,
    outputsDir: join(dir, 'outputs'),
    imagesDir: join(dir, 'images'),
    registrations: openRegistrations(join(dir, 'registered')),
    runOf,
    keepReport: report => writeReport(runOf(report.attemptId), JSON.stringify(report)),
    // Windows cannot remove a file that the guard still has open. Retry, because the guard is about to exit.
    dropReport: attemptId => rmSync(runOf(attemptId).path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function instanceOf(file: string): string {
  const stored = readOrNull(file)?.trim() ?? '';
  if (/^[0-9a-f]{24}$/.test(stored)) return stored;
  const created = randomBytes(12).toString('hex');
  writeWhole(file, `${created}\n`);
  return created;
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** Returns the final report of a run; null when it does not exist yet or is unreadable. */
export function readReport(run: RunFolder): FinalReport | null {
  const fields = readReportFields(run);
  const jobId = JobId.safeParse(fields?.['jobId']);
  const attemptId = AttemptId.safeParse(fields?.['attemptId']);
  const body = StatusReport.safeParse(fields?.['body']);
  if (!jobId.success || !attemptId.success || !body.success) return null;
  return { jobId: jobId.data, attemptId: attemptId.data, body: body.data };
}

/** Whether an orchestrator has ever accepted this worker. */
export interface Registrations {
  hasAny(): boolean;
  record(): void;
}

/** Opens the record in `file`, which exists once an orchestrator has accepted this worker. Survives restarts. @internal */
export function openRegistrations(file: string): Registrations {
  let hasAny = existsSync(file);
  return {
    hasAny: () => hasAny,
    record() {
      if (hasAny) return;
      hasAny = true;
      try {
        writeWhole(file, '');
      } catch {
        // The disk is full or read-only. A later process records its own registration.
      }
    },
  };
}

/** Creates registrations in memory, for workers that write nothing to disk. */
export function holdRegistrations(): Registrations {
  let hasAny = false;
  return { hasAny: () => hasAny, record: () => void (hasAny = true) };
}

type Locked =
  | { readonly kind: 'mine'; readonly release: () => void }
  | { readonly kind: 'held'; readonly by: ProcessRef; readonly isTrial?: true };

interface LockDeps {
  /** Created if missing. */
  readonly dir: string;
  readonly pid: number;
  readonly processes: Processes;
  readonly clock: Clock;
  /** Whether this process only tries out a new program. */
  readonly isTrial?: boolean;
}

/**
 * Two agents that start at the same time overwrite each other's lock. After this time in ms, only one agent finds its
 * own lock.
 */
const confirmAfterMs = 150;

/**
 * Locks a state folder for one agent, because two agents would adopt the same trainer. Takes over a lock whose owner has
 * ended. Throws when the folder cannot be written.
 *
 * @internal
 */
export async function lockState({ dir, pid, processes, clock, isTrial }: LockDeps): Promise<Locked> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, 'lock');
  // Without a known start time, the lock does not exclude other agents. A lock that is never released would be worse.
  const self = (await processes.identify(pid)) ?? { pid, start: 'unknown' };
  const holder = (): ProcessRef | null => refOf(readFields(file));
  const isMine = (ref: ProcessRef | null): boolean => ref?.pid === self.pid && ref.start === self.start;
  const earlier = holder();
  const held = (by: ProcessRef): Locked => ({
    kind: 'held',
    by,
    ...(readFields(file)?.['trial'] === true && { isTrial: true as const }),
  });
  if (earlier !== null && (await isRunning(processes, earlier))) return held(earlier);
  showWhole(file, JSON.stringify({ ...self, ...(isTrial === true && { trial: true }) }));
  await pause(clock, confirmAfterMs, new AbortController().signal);
  const winner = holder();
  if (winner !== null && !isMine(winner)) return held(winner);
  return {
    kind: 'mine',
    release() {
      if (isMine(holder())) rmSync(file, { force: true });
    },
  };
}

/** Time in ms for a trial to leave after its parent was killed. */
const trialLeavesMs = 20_000;
const trialPollMs = 250;

/** Like `lockState`, but first waits for a trial to leave. A trial can outlive its parent, if the parent was killed. */
export async function lockAfterTrial(deps: LockDeps): Promise<Locked> {
  const until = deps.clock.mono() + trialLeavesMs;
  for (;;) {
    const locked = await lockState(deps);
    if (locked.kind === 'mine' || locked.isTrial !== true || deps.clock.mono() >= until) return locked;
    await pause(deps.clock, trialPollMs, new AbortController().signal);
  }
}
