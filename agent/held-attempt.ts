import type { AttemptId, JobId } from '../protocol/ids.ts';
import type { Progress } from '../protocol/progress.ts';
import type { StatusReportBody } from '../protocol/worker-api.ts';
import type { FoundRun } from './adopt.ts';
import type { AttemptLogs } from './attempt-logs.ts';
import type { AttemptOutputs } from './attempt-outputs.ts';
import type { Fetched } from './checkpoint-fetch.ts';
import type { Curve, CurveOrigin } from './curves.ts';
import { endReport, neverStarted } from './end-report.ts';
import type { Contact, Order } from './guard-files.ts';
import { shownLine } from './progress-stage.ts';
import type { Run, RunOrigin } from './run.ts';
import type { RunEars } from './run-follow.ts';
import { reasonOf, startFailure } from './start-failure.ts';
import type { JobOffer, Prepared, PreparedJob } from './trainer.ts';

/** What the agent is about: at most one attempt, from the offer to the acknowledged report. */
export interface Held {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
}

export interface AttemptParts {
  readonly prepare: (offer: JobOffer) => Prepared;
  readonly start: (job: PreparedJob, origin: RunOrigin, ears: RunEars) => Promise<Run>;
  /** Sent once, and only while the attempt is `alive`: the next heartbeat says the same again. */
  readonly mention: (held: Held, report: StatusReportBody) => void;
  /** As the orchestrator has them at the moment. */
  readonly limits: () => Omit<Contact, 'sentAt'>;
  readonly say: (message: string) => void;
  readonly onLine: (line: string) => void;
  /** Where the output goes; nowhere unless told. */
  readonly logs?: Pick<AttemptLogs, 'follow' | 'finish' | 'keepFor'>;
  readonly curve: (origin: CurveOrigin) => Curve;
  /** Fetches what an attempt goes on from, before it is started. Where it is not there, every attempt begins anew. */
  readonly fetchCheckpoint?: (offer: JobOffer, job: PreparedJob, signal: AbortSignal) => Promise<Fetched>;
  /** Fetches its datasets, and says meanwhile how far it is. Where it is not there, no job with data can run. */
  readonly fetchData?: (
    offer: JobOffer,
    job: PreparedJob,
    signal: AbortSignal,
    onStage: (stage: string) => void,
  ) => Promise<Fetched>;
  /** Where what it makes goes; nowhere unless told. */
  readonly outputs?: Pick<AttemptOutputs, 'follow' | 'finish' | 'rescue'>;
}

export interface HeldAttempt extends Held {
  /** Whether its guard is to be told of contact. */
  readonly stopsWithoutContact: boolean;
  order: Order | null;
  run: Run | null;
  progress: Progress | null;
  /** Of the newest call that was answered. */
  sentAt: number;
  /** Its last report is on its way. */
  ended: boolean;
  /** This agent looks after it no longer. */
  isReleased: boolean;
  /** Fires when the attempt was given away: nothing more is to be said of it. */
  readonly given: AbortController;
  /** Fires when what has not been started yet is not to be: there is an order, or this agent looks after it no longer. */
  readonly halted: AbortController;
}

/** A part of what a worker has that is told to stop at once. */
const rescueMs = 15_000;

export const holdAttempt = (origin: Held & Partial<RunOrigin>): HeldAttempt => ({
  jobId: origin.jobId,
  attemptId: origin.attemptId,
  stopsWithoutContact: origin.onLostContact === 'stop',
  order: null,
  run: null,
  progress: null,
  sentAt: 0,
  ended: false,
  isReleased: false,
  given: new AbortController(),
  halted: new AbortController(),
});

export const originOf = (offer: JobOffer): Omit<RunOrigin, 'contact'> => ({
  jobId: offer.job_id,
  attemptId: offer.attempt_id,
  configName: offer.config_name,
  onLostContact: offer.on_lost_contact,
});

/** The first order counts, and none for an attempt that has ended: what it came to is wanted all the same. */
export function giveOrder(held: HeldAttempt, order: Order, parts: AttemptParts): void {
  if (held.order !== null || held.ended) return;
  held.order = order;
  held.halted.abort();
  if (order === 'abandon') held.given.abort();
  passOrder(held, parts);
}

function passOrder({ run, order }: HeldAttempt, { limits }: AttemptParts): void {
  if (order !== null) run?.stop(order, limits().graceMs);
}

export function noteContact(
  { run, sentAt, jobId, stopsWithoutContact }: HeldAttempt,
  parts: AttemptParts,
): void {
  if (!stopsWithoutContact || sentAt === 0) return;
  try {
    run?.contact({ ...parts.limits(), sentAt });
  } catch (cause) {
    parts.say(
      `That job ${jobId} is in contact can't be noted, and without that it will be stopped: ${reasonOf(cause)}. Make room on ` +
        'the disk of the state folder',
    );
  }
}

/** Everything between the claim and the last report; whatever goes wrong here is a failed attempt, said so. */
export async function startOffer(
  offer: JobOffer,
  held: HeldAttempt,
  parts: AttemptParts,
): Promise<StatusReportBody> {
  let curve: Curve | null = null;
  try {
    const prepared = parts.prepare(offer);
    if (!prepared.ok) return { status: 'failed', cause: prepared.cause, error: prepared.message };
    const missing =
      (await fetchDataFor(offer, prepared.job, held, parts)) ??
      (await fetchFor(offer, prepared.job, held, parts));
    if (missing !== null) return missing;
    const origin = { ...originOf(offer), contact: { ...parts.limits(), sentAt: held.sentAt } };
    curve = curveOf(held, { ...origin, outputDir: prepared.job.outputDir }, false, parts, held);
    await curve.ready;
    await parts.outputs?.follow(offer, prepared.job);
    const run = await parts.start(prepared.job, origin, earsOf(held, true, curve, parts, secretsOf(offer)));
    parts.logs?.follow(held.attemptId, secretsOf(offer));
    parts.logs?.keepFor(held.attemptId, curve.done);
    if (run.pid !== null) {
      parts.say(`Job ${held.jobId} runs: ${offer.config_name} (pid ${run.pid})`);
      parts.mention(held, { status: 'running' });
    }
    return await attend(held, run, parts);
  } catch (cause) {
    parts.outputs?.finish(held.attemptId, false);
    return { status: 'failed', cause: 'start_failed', error: startFailure(cause) };
  } finally {
    curve?.finish();
  }
}

/** Null when there is nothing more to wait for. */
async function fetchFor(
  offer: JobOffer,
  job: PreparedJob,
  held: HeldAttempt,
  parts: AttemptParts,
): Promise<StatusReportBody | null> {
  if (offer.resume === null || parts.fetchCheckpoint === undefined) return null;
  return endOfFetch(await parts.fetchCheckpoint(offer, job, held.halted.signal), held, parts);
}

async function fetchDataFor(
  offer: JobOffer,
  job: PreparedJob,
  held: HeldAttempt,
  parts: AttemptParts,
): Promise<StatusReportBody | null> {
  if (offer.data.length === 0) return null;
  const onStage = (stage: string): void => {
    held.progress = { ...held.progress, stage };
    parts.mention(held, { status: 'starting', progress: held.progress });
  };
  if (parts.fetchData === undefined)
    return { status: 'failed', cause: 'rejected', error: 'This worker cannot fetch data' };
  const fetched = await parts.fetchData(offer, job, held.halted.signal, onStage);
  const { stage: _, ...progress } = held.progress ?? {};
  held.progress = progress;
  return endOfFetch(fetched, held, parts);
}

function endOfFetch(fetched: Fetched, held: HeldAttempt, parts: AttemptParts): StatusReportBody | null {
  // What this says of an attempt that was let go is said to nobody.
  if (held.halted.signal.aborted || fetched.kind === 'aborted')
    return neverStarted(held.order ?? 'leave_now');
  if (fetched.kind === 'failed') return { status: 'failed', cause: 'start_failed', error: fetched.message };
  parts.say(fetched.words);
  return null;
}

/** Goes on with what an earlier process of the agent has begun. */
export async function attendFound(
  { kind, origin, order, attend: follow }: FoundRun,
  held: HeldAttempt,
  parts: AttemptParts,
): Promise<StatusReportBody> {
  const isLive = kind === 'running';
  if (order !== null) giveOrder(held, order, parts);
  const curve = curveOf(held, origin, true, parts, isLive ? held : undefined);
  const run = follow(earsOf(held, isLive, curve, parts));
  parts.logs?.follow(held.attemptId, []);
  parts.logs?.keepFor(held.attemptId, curve.done);
  if (isLive) parts.say(`Job ${held.jobId} goes on: ${origin.configName} (pid ${run.pid ?? 'unknown'})`);
  try {
    return await attend(held, run, parts);
  } finally {
    curve.finish();
  }
}

/** Reads what was printed once more, for the points that an earlier process of the agent has not sent. */
export function catchUpCurve({ origin, attend: follow }: FoundRun, parts: CurveSources): void {
  const curve = curveOf(origin, origin, true, parts);
  parts.logs?.follow(origin.attemptId, []);
  parts.logs?.keepFor(origin.attemptId, curve.done);
  const { finished } = follow({ onProgress: () => {}, onFigures: curve.note, onLine: () => {} });
  void finished.then(curve.finish);
}

type CurveSources = Pick<AttemptParts, 'curve' | 'logs'>;

/** Its time begins with the claim, which is on the disk with the task. */
const curveOf = (
  { jobId, attemptId }: Held,
  { contact, outputDir = null }: CurvePlace,
  isAdopted: boolean,
  { curve, mention }: Pick<AttemptParts, 'curve'> & Partial<Pick<AttemptParts, 'mention'>>,
  held?: HeldAttempt,
): Curve =>
  curve({
    jobId,
    attemptId,
    startedAt: contact.sentAt,
    isAdopted,
    outputDir,
    ...(held && { onProgress: progress => noteFiled(held, progress, mention) }),
  });

interface CurvePlace extends Pick<RunOrigin, 'contact'> {
  readonly outputDir?: string | null;
}

/** A trainer that draws a bar knows better how far it is: files are behind it. */
function noteFiled(held: HeldAttempt, filed: Progress, mention: AttemptParts['mention'] | undefined): void {
  const { step = 0 } = filed;
  if (held.ended || step <= (held.progress?.step ?? -1)) return;
  held.progress = { ...held.progress, ...filed };
  mention?.(held, { status: 'running', progress: held.progress });
}

async function attend(held: HeldAttempt, run: Run, parts: AttemptParts): Promise<StatusReportBody> {
  held.run = run;
  // What came while the trainer was being started.
  passOrder(held, parts);
  noteContact(held, parts);
  if (held.isReleased) run.leave();
  const exit = await run.finished;
  parts.logs?.finish(held.attemptId);
  const report = endReport(exit, held.order);
  // What a trainer has written when it was asked to stop is taken until its end is told.
  if (report.cause === 'preempted') await parts.outputs?.rescue(held.attemptId, rescueMs);
  else if (parts.outputs?.finish(held.attemptId, report.status === 'completed'))
    return { ...report, uploads_pending: true };
  return report;
}

const secretsOf = ({ upload_token, hf_token }: JobOffer): readonly string[] =>
  [upload_token, hf_token].filter(token => typeof token === 'string');

const earsOf = (
  held: HeldAttempt,
  isTold: boolean,
  curve: Curve,
  parts: AttemptParts,
  secrets: readonly string[] = [],
): RunEars => ({
  onLine: parts.onLine,
  onFigures: curve.note,
  onProgress: progress => {
    held.progress = { ...held.progress, ...progress };
    if (isTold) parts.mention(held, { status: 'running', progress: held.progress });
  },
  onWords: ({ stage, line }) => {
    held.progress = {
      ...held.progress,
      ...(stage !== null && { stage }),
      ...(line !== null && { last_log: shownLine(line, secrets) }),
    };
    if (isTold) parts.mention(held, { status: 'running', progress: held.progress });
  },
});
