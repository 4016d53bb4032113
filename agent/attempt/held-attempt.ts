import type { Progress } from '../../protocol/reports.ts';
import type { RunLink } from '../../protocol/run-link.ts';
import type { StatusReportBody } from '../../protocol/worker-api.ts';
import type { FoundRun } from './adopt.ts';
import type { AttemptLogs } from '../logs/attempt-logs.ts';
import type { AttemptOutputs } from '../artifacts/attempt-outputs.ts';
import type { FetchData } from '../datasets/rig-data.ts';
import type { Fetched } from '../artifacts/checkpoint-fetch.ts';
import type { Curve, CurveOrigin } from '../metrics/curves.ts';
import { endReport, neverStarted, type Stopping, workerStopped } from './reports.ts';
import type { Clock } from '../clock.ts';
import type { Contact, ExitRecord, Order } from '../guard/guard-files.ts';
import { graceUntilEnd, isUnfinished, type Preemption, uploadMs } from './preemption.ts';
import { awaitOthers, type RendezvousDeps } from './rendezvous.ts';
import { containsSecret, shownLine } from './sent-progress.ts';
import { placeResumeInput } from './resume-input.ts';
import { onWorkers } from './several-nodes.ts';
import type { Run, RunOrigin } from './run.ts';
import type { RunListeners } from './run-follow.ts';
import { reasonOf, startFailure } from '../files/failure-text.ts';
import type { Prepared } from './trainer.ts';
import type { Ask } from './trainer-actions.ts';
import type { Held, JobOffer, PreparedJob, Rendezvous } from '../job.ts';

export interface AttemptDeps extends RendezvousDeps {
  readonly prepare: (offer: JobOffer) => Prepared;
  readonly start: (job: PreparedJob, origin: RunOrigin, listeners: RunListeners) => Promise<Run>;
  /** Sends a progress report once, without retries. Sends nothing when the attempt has ended. */
  readonly reportProgress: (held: Held, report: StatusReportBody) => void;
  /** The current limits of the orchestrator. */
  readonly limits: () => Omit<Contact, 'sentAt'>;
  readonly log: (message: string) => void;
  readonly onLine: (line: string) => void;
  /** Sends the trainer's output to the orchestrator. When absent, the output stays on this machine. */
  readonly logs?: Pick<AttemptLogs, 'follow' | 'finish' | 'keepFor'>;
  readonly curve: (origin: CurveOrigin) => Curve;
  /**
   * Fetches the checkpoint that an attempt resumes from, before its trainer starts. When absent, every attempt starts
   * from scratch.
   */
  readonly fetchCheckpoint?: (offer: JobOffer, job: PreparedJob, signal: AbortSignal) => Promise<Fetched>;
  /** Fetches the datasets of a job. When absent, no job with data can run. */
  readonly fetchData?: FetchData;
  /** Fetches the files of other jobs. When absent, no job with inputs can run. */
  readonly fetchInputs?: FetchData;
  /** Uploads the trainer's outputs. When absent, the outputs stay on this machine. */
  readonly outputs?: Pick<AttemptOutputs, 'follow' | 'finish' | 'rescue' | 'hasten' | 'saved'>;
  /** Requests a checkpoint from the trainer before its preemption. When absent, the trainer is only stopped. */
  readonly ask?: Ask;
  readonly clock: Clock;
}

export interface HeldAttempt extends Held {
  /** Number of this machine among the workers of the attempt. Only worker 0 sends progress, logs and files. */
  readonly rank: number;
  /** Resolves when all workers of the attempt are ready. */
  readonly rendezvous: PromiseWithResolvers<Rendezvous>;
  /** Whether the guard stops the run when contact is lost. The agent then records each contact for the guard. */
  readonly stopsWithoutContact: boolean;
  order: Order | null;
  /** Set when the machine is needed for something else: the trainer saves and is stopped. */
  preemption: Preemption | null;
  /** Whether the agent has asked the trainer to save before its preemption. */
  isAskedToSave: boolean;
  run: Run | null;
  progress: Progress | null;
  /** Links to the run at experiment trackers. Each report contains all of them, because a report can be lost. */
  links: readonly RunLink[];
  /** When the last answered call was sent, in ms of machine uptime; 0 when there was none. */
  sentAt: number;
  /** Whether the run has ended and its final report is known. */
  ended: boolean;
  /** Whether the agent has stopped following the run. */
  isReleased: boolean;
  /** Fires when the attempt was abandoned: the agent must report nothing more about it. */
  readonly abandoned: AbortController;
  /** Fires when nothing more may be started: there is a stop order, or the agent has stopped following the attempt. */
  readonly halted: AbortController;
}

/** Time in ms to upload the event files of a failed or cancelled run, before its end is reported. */
const eventsMs = 5_000;

/** Time in ms to upload the checkpoints of a preempted run. Part of the time within which a worker must stop. */
const rescueMs = 15_000;

/** Returns the state of an attempt that has just arrived here: no trainer, no order, no progress. */
export const holdAttempt = (origin: Held & Partial<RunOrigin>): HeldAttempt => ({
  jobId: origin.jobId,
  attemptId: origin.attemptId,
  rank: origin.rank ?? 0,
  rendezvous: Promise.withResolvers(),
  stopsWithoutContact: origin.onLostContact === 'stop',
  order: null,
  preemption: null,
  isAskedToSave: false,
  run: null,
  progress: null,
  links: [],
  sentAt: 0,
  ended: false,
  isReleased: false,
  abandoned: new AbortController(),
  halted: new AbortController(),
});

/** Returns the origin of the run that an offer starts, without the contact. */
export const originOf = (offer: JobOffer): Omit<RunOrigin, 'contact'> => ({
  jobId: offer.job_id,
  attemptId: offer.attempt_id,
  configName: offer.config_name,
  onLostContact: offer.on_lost_contact,
  ...(offer.node && { rank: offer.node.rank }),
});

/** Makes a trainer's output stay on this machine. Used on all workers of an attempt except the first. */
export const withoutOutput = <D extends AttemptDeps>({ logs: _logs, outputs: _outputs, ...deps }: D) => ({
  ...deps,
  curve: () => noCurve,
});

const noCurve: Curve = {
  ready: Promise.resolve(),
  note: () => {},
  finish: () => {},
  done: Promise.resolve(true),
};

/**
 * Gives a stop order. Only the first order counts. Ignores orders after the end of the attempt, because its result is
 * still needed.
 */
export function giveOrder(held: HeldAttempt, order: Order, deps: AttemptDeps): void {
  if (held.order !== null || held.ended) return;
  held.order = order;
  held.halted.abort();
  if (order === 'abandon') held.abandoned.abort();
  passOrder(held, deps);
}

function passOrder({ run, order, preemption }: HeldAttempt, { limits, clock }: AttemptDeps): void {
  if (order === null) return;
  const { graceMs } = limits();
  run?.stop(order, preemption === null ? graceMs : graceUntilEnd(preemption, graceMs, clock.mono()));
}

/** Records the last contact with the orchestrator for the guard, if the guard stops runs without contact. */
export function noteContact(
  { run, sentAt, jobId, stopsWithoutContact }: HeldAttempt,
  deps: AttemptDeps,
): void {
  if (!stopsWithoutContact || sentAt === 0) return;
  try {
    run?.contact({ ...deps.limits(), sentAt });
  } catch (cause) {
    deps.log(
      `Cannot save the last contact of job ${jobId}, so its guard will stop it: ${reasonOf(cause)}. Free space on the disk of ` +
        'the state folder',
    );
  }
}

/**
 * Call when all workers of the attempt are ready. If the trainer already runs here, the orchestrator did not receive the
 * report of its start, so this sends the report again.
 */
export function noteRendezvous(held: HeldAttempt, rendezvous: Rendezvous, deps: AttemptDeps): void {
  held.rendezvous.resolve(rendezvous);
  if (held.run !== null) deps.reportProgress(held, { status: 'running', ...findingsOf(held) });
}

/**
 * Runs a claimed attempt until its end, and returns its final report. Any error becomes the report of a failed attempt.
 * Returns null when the orchestrator withdrew the attempt before its trainer was started.
 */
export async function startOffer(
  offer: JobOffer,
  held: HeldAttempt,
  deps: AttemptDeps,
): Promise<StatusReportBody | null> {
  let curve: Curve | null = null;
  try {
    const prepared = deps.prepare(offer);
    if (!prepared.ok) return { status: 'failed', cause: prepared.cause, error: prepared.message };
    const missing =
      (await fetchDataFor(offer, prepared.job, held, deps)) ??
      (await fetchInputsFor(offer, prepared.job, held, deps)) ??
      (await fetchCheckpointFor(offer, prepared.job, held, deps));
    if (missing !== null) return missing;
    const joined = await joinOthers(offer, prepared.job, held, deps);
    if (!joined.ok) return joined.report;
    const origin = { ...originOf(offer), contact: { ...deps.limits(), sentAt: held.sentAt } };
    curve = curveOf(held, { ...origin, outputDir: joined.job.outputDir }, false, deps, held);
    await curve.ready;
    await deps.outputs?.follow(offer, joined.job);
    const run = await deps.start(joined.job, origin, toListeners(held, true, curve, deps, secretsOf(offer)));
    deps.logs?.follow(held.attemptId, secretsOf(offer));
    deps.logs?.keepFor(held.attemptId, curve.done);
    if (run.pid !== null) {
      deps.log(`Job ${held.jobId} runs: ${offer.config_name} (pid ${run.pid})`);
      deps.reportProgress(held, { status: 'running' });
    }
    return await attend(held, run, deps);
  } catch (cause) {
    deps.outputs?.finish(held.attemptId, false);
    return { status: 'failed', cause: 'start_failed', error: startFailure(cause) };
  } finally {
    curve?.finish();
  }
}

type Joined =
  | { readonly ok: true; readonly job: PreparedJob }
  | { readonly ok: false; readonly report: StatusReportBody | null };

/**
 * Waits until the other workers of the attempt are ready. Returns the job with the settings with which the workers find
 * each other.
 */
async function joinOthers(
  { node, gpus }: JobOffer,
  job: PreparedJob,
  held: HeldAttempt,
  deps: AttemptDeps,
): Promise<Joined> {
  if (node === undefined) return { ok: true, job };
  deps.log(
    `Job ${held.jobId} is ready on this machine (${node.rank + 1} of ${node.count}), and waits for the others`,
  );
  noteStage(held, 'Waiting for the other machines', deps);
  const rendezvous = await awaitOthers(held, deps);
  noteStage(held, null, deps);
  if (rendezvous === 'refused') return { ok: false, report: null };
  if (rendezvous === 'halted') return { ok: false, report: stoppedBefore(held) };
  return { ok: true, job: onWorkers(job, node, rendezvous, gpus?.length ?? 1) };
}

/** Reports the current activity before the trainer starts; null clears it. */
function noteStage(held: HeldAttempt, stage: string | null, { reportProgress }: AttemptDeps): void {
  if (held.rank > 0) return;
  const { stage: _, ...progress } = held.progress ?? {};
  held.progress = stage === null ? progress : { ...progress, stage };
  if (stage !== null) reportProgress(held, { status: 'starting', progress: held.progress });
}

/** Fetches the checkpoint. Returns null when the attempt can continue, else its final report. */
async function fetchCheckpointFor(
  offer: JobOffer,
  job: PreparedJob,
  held: HeldAttempt,
  deps: AttemptDeps,
): Promise<StatusReportBody | null> {
  if (offer.resume === null || deps.fetchCheckpoint === undefined) return null;
  return endOfFetch(await deps.fetchCheckpoint(offer, job, held.halted.signal), held, deps);
}

type Fetching = readonly [offer: JobOffer, job: PreparedJob, held: HeldAttempt, deps: AttemptDeps];

const fetchDataFor = async (...fetching: Fetching): Promise<StatusReportBody | null> => {
  const [offer, , , { fetchData }] = fetching;
  return offer.data.length === 0 ? null : fetchWith(fetchData, 'data', fetching);
};

const fetchInputsFor = async (...fetching: Fetching): Promise<StatusReportBody | null> => {
  const [{ inputs = [] }, { resumeInput, outputDir }, , { fetchInputs, log }] = fetching;
  if (inputs.length === 0) return null;
  const missing = await fetchWith(fetchInputs, 'files of other jobs', fetching);
  if (missing !== null || resumeInput === undefined) return missing;
  try {
    await placeResumeInput(resumeInput, outputDir);
    log(`Continuing from ${resumeInput.to}, a checkpoint of another job`);
    return null;
  } catch (cause) {
    const error = `Checkpoint ${resumeInput.to} of another job cannot be used to continue: ${reasonOf(cause)}`;
    return { status: 'failed', cause: 'start_failed', error };
  }
};

async function fetchWith(
  fetch: FetchData | undefined,
  what: string,
  [offer, job, held, deps]: Fetching,
): Promise<StatusReportBody | null> {
  if (fetch === undefined)
    return { status: 'failed', cause: 'rejected', error: `This worker cannot fetch ${what}` };
  const fetched = await fetch(offer, job, held.halted.signal, stage => noteStage(held, stage, deps));
  noteStage(held, null, deps);
  return endOfFetch(fetched, held, deps);
}

function endOfFetch(fetched: Fetched, held: HeldAttempt, deps: AttemptDeps): StatusReportBody | null {
  // If the agent has stopped following the attempt, the caller does not send this report.
  if (held.halted.signal.aborted || fetched.kind === 'aborted') return stoppedBefore(held);
  if (fetched.kind === 'failed') return { status: 'failed', cause: 'start_failed', error: fetched.message };
  deps.log(fetched.message);
  return null;
}

/** Follows a run that an earlier process of the agent started. */
export async function attendFound(
  { kind, origin, order, attend: follow }: FoundRun,
  held: HeldAttempt,
  deps: AttemptDeps,
): Promise<StatusReportBody> {
  const isLive = kind === 'running';
  if (order !== null) giveOrder(held, order, deps);
  const curve = curveOf(held, origin, true, deps, isLive ? held : undefined);
  const run = follow(toListeners(held, isLive, curve, deps));
  deps.logs?.follow(held.attemptId, []);
  deps.logs?.keepFor(held.attemptId, curve.done);
  if (isLive) deps.log(`Job ${held.jobId} goes on: ${origin.configName} (pid ${run.pid ?? 'unknown'})`);
  try {
    return await attend(held, run, deps);
  } finally {
    curve.finish();
  }
}

/**
 * Reads a run's output once more, and sends the points of its metric curves that an earlier process of the agent did
 * not send.
 */
export function catchUpCurve({ origin, attend: follow }: FoundRun, sources: CurveSources): void {
  if ((origin.rank ?? 0) > 0) return;
  const curve = curveOf(origin, origin, true, sources);
  sources.logs?.follow(origin.attemptId, []);
  sources.logs?.keepFor(origin.attemptId, curve.done);
  const { finished } = follow({ onProgress: () => {}, onFigures: curve.note, onLine: () => {} });
  void finished.then(curve.finish);
}

type CurveSources = Pick<AttemptDeps, 'curve' | 'logs'>;

/**
 * Opens the curve of an attempt. The curve's time starts at the claim, which the run's `task.json` records (`contact.sentAt`).
 */
const curveOf = (
  { jobId, attemptId }: Held,
  { contact, outputDir = null }: CurveInput,
  isAdopted: boolean,
  { curve, reportProgress }: Pick<AttemptDeps, 'curve'> & Partial<Pick<AttemptDeps, 'reportProgress'>>,
  held?: HeldAttempt,
): Curve =>
  curve({
    jobId,
    attemptId,
    startedAt: contact.sentAt,
    isAdopted,
    outputDir,
    ...(held && { onProgress: progress => noteFileProgress(held, progress, reportProgress) }),
  });

interface CurveInput extends Pick<RunOrigin, 'contact'> {
  readonly outputDir?: string | null;
}

/** Ignores progress from files unless its step is ahead of the printed one, because files lag behind a progress bar. */
function noteFileProgress(
  held: HeldAttempt,
  fromFiles: Progress,
  reportProgress: AttemptDeps['reportProgress'] | undefined,
): void {
  const { step = 0 } = fromFiles;
  if (held.ended || step <= (held.progress?.step ?? -1)) return;
  held.progress = { ...held.progress, ...fromFiles };
  reportProgress?.(held, { status: 'running', ...findingsOf(held) });
}

/** Returns the progress and links that the output has shown so far, for a report. */
export const findingsOf = ({
  progress,
  links,
}: Pick<HeldAttempt, 'progress' | 'links'>): Pick<StatusReportBody, 'progress' | 'links'> => ({
  ...(progress && { progress }),
  ...(links.length > 0 && { links }),
});

async function attend(held: HeldAttempt, run: Run, deps: AttemptDeps): Promise<StatusReportBody> {
  held.run = run;
  // Apply the order and the contact that arrived while the trainer was being started.
  passOrder(held, deps);
  noteContact(held, deps);
  if (held.isReleased) run.leave();
  const exit = await run.finished;
  deps.logs?.finish(held.attemptId);
  const { preemption } = held;
  if (preemption !== null && held.order === 'leave_now') return endPreempted(held, preemption, exit, deps);
  // Only the first worker has progress, so the others count as unfinished (`Stopping.isUnfinished`).
  const report = endReport(exit, held.order, { ...workerStopped, isUnfinished: held.rank > 0 });
  // Upload before the report, because the orchestrator accepts these files only until the end is reported.
  if (report.cause === 'preempted') await deps.outputs?.rescue(held.attemptId, rescueMs);
  else if (report.status !== 'completed' && !held.abandoned.signal.aborted)
    await deps.outputs?.rescue(held.attemptId, eventsMs, 'stopped');
  else if (deps.outputs?.finish(held.attemptId, report.status === 'completed'))
    return { ...report, uploads_pending: true };
  return report;
}

/** Uploads the remaining checkpoints of a preempted attempt, and returns its final report. */
async function endPreempted(
  { attemptId, rank, progress, isAskedToSave }: HeldAttempt,
  preemption: Preemption,
  exit: ExitRecord | null,
  { outputs, clock }: AttemptDeps,
): Promise<StatusReportBody> {
  const stopping: Stopping = { why: preemption.reason, isUnfinished: rank > 0 || isUnfinished(progress) };
  const report = endReport(exit, 'leave_now', stopping);
  // Only the first worker of an attempt knows whether a checkpoint is uploaded.
  if (rank > 0) return report;
  if (report.cause !== 'preempted') {
    const isPending = outputs?.finish(attemptId, report.status === 'completed') === true;
    return isPending ? { ...report, uploads_pending: true } : report;
  }
  // A trainer that exited by itself may have saved at its end. A killed trainer may have been writing a checkpoint.
  const end = exit?.signal === null && !isAskedToSave ? 'preempted' : 'killed';
  await outputs?.rescue(attemptId, uploadMs(preemption, clock.mono()), end);
  return { ...report, saved: outputs !== undefined && outputs.saved(attemptId) !== 'none' };
}

/** Returns the final report of an attempt that was stopped before its trainer was started. */
export function stoppedBefore({ order, preemption, rank }: HeldAttempt): StatusReportBody {
  if (preemption === null || order === 'cancel') return neverStarted(order ?? 'leave_now');
  const report = neverStarted('leave_now', `${preemption.reason}. The training was not started`);
  return rank > 0 ? report : { ...report, saved: false };
}

const secretsOf = ({ upload_token, hf_token }: JobOffer): readonly string[] =>
  [upload_token, hf_token].filter(token => typeof token === 'string');

function toListeners(
  held: HeldAttempt,
  reportsProgress: boolean,
  curve: Curve,
  deps: AttemptDeps,
  secrets: readonly string[] = [],
): RunListeners {
  const report = (): void => {
    if (reportsProgress) deps.reportProgress(held, { status: 'running', ...findingsOf(held) });
  };
  const noteProgress = (progress: Progress): void => {
    if (held.rank > 0) return;
    held.progress = { ...held.progress, ...progress };
    report();
  };
  return {
    onLine: deps.onLine,
    onFigures: curve.note,
    onProgress: noteProgress,
    onLink(link) {
      if (held.rank > 0 || containsSecret(link.url, secrets)) return;
      held.links = [...held.links, link];
      report();
    },
    onStage: ({ stage, line }) =>
      noteProgress({
        ...(stage !== null && { stage }),
        ...(line !== null && { last_log: shownLine(line, secrets) }),
      }),
  };
}
