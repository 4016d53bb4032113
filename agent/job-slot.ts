import type { AttemptId, JobId } from '../protocol/ids.ts';
import type { Progress } from '../protocol/progress.ts';
import type { StatusReportBody } from '../protocol/worker-api.ts';
import type { Answer } from './reporter.ts';
import type { Finished, Run, RunEars } from './run.ts';
import type { FinalReport } from './state-folder.ts';
import type { JobOffer, Prepared, PreparedJob } from './trainer.ts';

/** Why a run is to end before its trainer does. */
type Order = 'cancel' | 'abandon' | 'leave_now';

/** What the agent is about: at most one attempt, from the offer to the acknowledged report. */
export interface Held {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
}

export interface SlotParts {
  readonly prepare: (offer: JobOffer) => Prepared;
  readonly start: (job: PreparedJob, ears: RunEars) => Promise<Run>;
  /** Repeats until there is an answer. */
  readonly report: (
    jobId: JobId,
    attemptId: AttemptId,
    report: StatusReportBody,
    signal: AbortSignal,
  ) => Promise<Answer>;
  /** Sent once, and only while the attempt is `alive`: the next heartbeat says the same again. */
  readonly mention: (held: Held, report: StatusReportBody) => void;
  readonly keep: (report: FinalReport) => void;
  readonly drop: () => void;
  readonly graceMs: () => number;
  readonly say: (message: string) => void;
  readonly onLine: (line: string) => void;
  /**
   * The slot is free again; `worked` unless the offer had been taken back before anything was started. The answer
   * tells whether another offer may be taken.
   */
  readonly onFree: (worked: boolean) => boolean;
}

export interface JobSlot {
  /** A repeated offer of what is held changes nothing. */
  offer(offer: JobOffer): void;
  /** Delivers how an attempt ended in an earlier run of the agent. */
  deliver(report: FinalReport): void;
  cancel(attemptId: AttemptId): void;
  /** Stops it without a report: it belongs to somebody else now. */
  abandon(jobId: JobId): void;
  /** Stops what runs, to be tried again elsewhere. */
  leaveNow(): void;
  /** Resolves when nothing is held. */
  freed(): Promise<void>;
  held(): Held | null;
  /** Whether this attempt is held and its last report is still to come: after that, nothing more is to be said of it. */
  alive(attemptId: AttemptId): boolean;
  progress(): Progress | null;
}

interface Current extends Held {
  order: Order | null;
  run: Run | null;
  progress: Progress | null;
  /** Its last report is on its way. */
  ended: boolean;
  /** Fires when the attempt was given away: nothing more is to be said of it. */
  readonly given: AbortController;
}

const newlyHeld = (jobId: JobId, attemptId: AttemptId): Current => ({
  jobId,
  attemptId,
  order: null,
  run: null,
  progress: null,
  ended: false,
  given: new AbortController(),
});

/** claim -> prepare -> run -> report; one offer that comes while the last report is on its way waits for its turn. */
export function createJobSlot(parts: SlotParts): JobSlot {
  let current: Current | null = null;
  let next: JobOffer | null = null;
  let holding: Promise<void> = Promise.resolve();

  const stop = (order: Order): void => {
    if (current === null || current.order !== null) return;
    current.order = order;
    if (order === 'abandon') current.given.abort();
    current.run?.stop(parts.graceMs());
  };

  const deliver = async (final: FinalReport, held: Current): Promise<true> => {
    held.ended = true;
    const answer = await parts.report(held.jobId, held.attemptId, final.body, held.given.signal);
    // Cut short by the agent's own end, the report stays on disk for its next start.
    if (answer !== 'aborted' || held.given.signal.aborted) parts.drop();
    return true;
  };

  const work = async (offer: JobOffer, held: Current): Promise<boolean> => {
    const { jobId, attemptId } = held;
    const isGiven = (): boolean => held.given.signal.aborted;
    const claim = await parts.report(jobId, attemptId, { status: 'starting' }, held.given.signal);
    if (claim !== 'taken' || isGiven()) return false;
    const report = held.order === null ? await runToEnd(parts, offer, held) : neverStarted(held.order);
    if (isGiven()) return true;
    const body = { ...report, ...(held.progress && { progress: held.progress }) };
    const final = { jobId, attemptId, body };
    keep(parts, final);
    return deliver(final, held);
  };

  const hold = ({ jobId, attemptId }: Held, task: (held: Current) => Promise<boolean>): void => {
    const held = newlyHeld(jobId, attemptId);
    current = held;
    const free = (worked: boolean): void => {
      current = null;
      const waiting = next;
      next = null;
      if (parts.onFree(worked) && waiting !== null) take(waiting);
    };
    holding = task(held).then(free, (cause: unknown) => {
      parts.say(`Job ${jobId} ended unexpectedly here: ${String(cause)}`);
      free(true);
    });
  };

  const take = (offer: JobOffer): void =>
    hold({ jobId: offer.job_id, attemptId: offer.attempt_id }, held => work(offer, held));

  return {
    offer(offer) {
      if (current === null) take(offer);
      else if (current.attemptId !== offer.attempt_id) next = offer;
    },
    deliver: report => hold(report, held => deliver(report, held)),
    cancel(attemptId) {
      if (current?.attemptId === attemptId) stop('cancel');
      else if (next?.attempt_id === attemptId) next = null;
    },
    abandon(jobId) {
      if (current?.jobId === jobId) stop('abandon');
    },
    leaveNow() {
      next = null;
      stop('leave_now');
    },
    freed: () => holding,
    held: () => current,
    alive: attemptId => current?.attemptId === attemptId && !current.ended,
    progress: () => current?.progress ?? null,
  };
}

/** A disk that is full, often of the job's own checkpoints, must not cost its result. */
function keep(parts: SlotParts, final: FinalReport): void {
  try {
    parts.keep(final);
  } catch (cause) {
    parts.say(`How job ${final.jobId} ended can't be kept on disk until it is reported: ${String(cause)}`);
  }
}

/** Everything between the claim and the last report; whatever goes wrong here is a failed attempt, said so. */
async function runToEnd(parts: SlotParts, offer: JobOffer, held: Current): Promise<StatusReportBody> {
  try {
    const prepared = parts.prepare(offer);
    if (!prepared.ok) return { status: 'failed', cause: prepared.cause, error: prepared.message };
    const run = await parts.start(prepared.job, {
      onLine: parts.onLine,
      onProgress: progress => {
        held.progress = { ...held.progress, ...progress };
        parts.mention(held, { status: 'running', progress: held.progress });
      },
    });
    held.run = run;
    // A stop that came while the trainer was being started.
    if (held.order !== null) run.stop(parts.graceMs());
    parts.say(`Job ${held.jobId} runs: ${offer.config_name} (pid ${run.pid})`);
    parts.mention(held, { status: 'running' });
    return endReport(await run.finished, held.order);
  } catch (cause) {
    return { status: 'failed', cause: 'start_failed', error: startFailure(cause) };
  }
}

/** The stop came before the claim was answered. */
const neverStarted = (order: Order): StatusReportBody =>
  order === 'cancel'
    ? { status: 'cancelled' }
    : {
        status: 'failed',
        cause: 'preempted',
        error: 'The worker was stopped before the training was started',
      };

function endReport(end: Finished, order: Order | null): StatusReportBody {
  const exit = { exit_code: end.code, signal: end.signal };
  if (end.code === 0) return { status: 'completed', ...exit };
  if (order === 'cancel') return { status: 'cancelled', ...exit };
  const how =
    end.signal === null ? `Training exited with code ${end.code}` : `Training was ended by ${end.signal}`;
  const error = end.tail === '' ? how : `${how}\n${end.tail}`;
  if (order === 'leave_now')
    return { status: 'failed', cause: 'preempted', error: `The worker was stopped. ${error}`, ...exit };
  if (/No module named '?simpletuner/.test(end.tail)) {
    const remedy =
      'No trainer found: SimpleTuner is not installed in the Python on PATH. Install it, or use --trainer';
    return { status: 'failed', cause: 'start_failed', error: `${remedy}\n${error}`, ...exit };
  }
  return { status: 'failed', error, ...exit };
}

function startFailure(cause: unknown): string {
  const missing = cause instanceof Error && 'syscall' in cause && /^spawn .*ENOENT/.test(cause.message);
  if (missing && 'path' in cause)
    return `No trainer found: ${String(cause.path)} is not on this machine. Install it, or name another with --trainer`;
  return `The trainer could not be started: ${cause instanceof Error ? cause.message : String(cause)}`;
}
