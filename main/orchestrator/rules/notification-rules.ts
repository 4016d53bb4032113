import type { WorkerEventType, JobEventType } from '../../../protocol/events.ts';
import type { AttemptId, ChannelId } from '../../../protocol/ids.ts';
import type { NotificationEvent } from '../../../protocol/notification.ts';
import type { Job, LiveJob, WallMs, Worker } from '../model.ts';
import type { Notification, Rule } from '../ports/notifications.ts';

/** Maximum length of a notification's text in characters. */
const maxText = 500;

const jobEvents: ReadonlyMap<JobEventType, NotificationEvent> = new Map([
  ['job.completed', 'job_completed'],
  ['job.failed', 'job_failed'],
  ['job.submitted', 'approval_needed'],
]);

const nameOf = ({ spec }: Job): string => spec.about.name ?? spec.configName;

const about = (job: Job) => ({
  job: { id: job.id, name: nameOf(job), user: job.user, tags: job.spec.about.tags },
  page: `/jobs/${job.id}`,
});

/**
 * Returns the notification for an event of a job; null if the event needs none. `workerName` is a function, because only the
 * few events with a notification need the lookup.
 */
export function jobNotification(
  type: JobEventType,
  job: Job,
  workerName: () => string | null,
): Notification | null {
  const event = jobEvents.get(type);
  if (event === undefined || (event === 'approval_needed' && job.approval !== 'wanted')) return null;
  const worker = workerName();
  return { event, ...about(job), worker, ...textsOf(event, job, worker) };
}

function textsOf(event: NotificationEvent, job: Job, worker: string | null) {
  const name = nameOf(job);
  const where = worker === null ? '' : ` on ${worker}`;
  if (event === 'job_completed')
    return { title: `${name} completed`, text: `${job.user}'s job completed${where}.` };
  if (event === 'approval_needed')
    return { title: `${name} needs approval`, text: `${job.user} submitted a job that waits for approval.` };
  const cause = 'cause' in job ? job.cause : null;
  const error = job.attempt?.end?.error ?? cause ?? 'the cause is unknown';
  return { title: `${name} failed`, text: `${job.user}'s job failed${where}: ${error}`.slice(0, maxText) };
}

/** Returns the notification for an event of a worker; null if the event needs none. Only a silent worker counts as lost. */
export function workerNotification(
  type: WorkerEventType,
  worker: Worker,
  live: LiveJob | null,
): Notification | null {
  if (type !== 'worker.offline' || worker.gone !== 'silent') return null;
  const { id, name } = worker;
  return {
    event: 'worker_lost',
    title: `Worker ${name} is offline`,
    text:
      live === null
        ? 'It has sent nothing for too long. It had no job.'
        : `It has sent nothing for too long. Its job is ${nameOf(live)}.`,
    job: live === null ? null : about(live).job,
    worker: name,
    page: `/workers/${id}`,
  };
}

const lossKey = /(?:^|[/_.])loss$/i;

/** Returns true if new values of an attempt contain a loss that is not a finite number. */
export const hasNanLoss = (
  samples: Iterable<readonly [string, readonly { readonly value: number | null }[]]>,
): boolean =>
  [...samples].some(([key, values]) => lossKey.test(key) && values.some(({ value }) => value === null));

export const nanNotification = (job: Job, worker: string | null): Notification => ({
  event: 'loss_nan',
  title: `${nameOf(job)}: the loss is not a number`,
  text: 'The trainer reported a loss of NaN or infinity. The job continues until somebody cancels it.',
  ...about(job),
  worker,
});

/** The current step of an attempt, and when the attempt reached it. */
export interface StepSeen {
  readonly step: number | null;
  readonly since: WallMs;
}

/** Returns the current step of each running attempt. A step that has not changed keeps its time. */
export function trackSteps(
  stepsBefore: ReadonlyMap<AttemptId, StepSeen>,
  jobs: readonly LiveJob[],
  now: WallMs,
): ReadonlyMap<AttemptId, StepSeen> {
  const running = jobs.filter(({ status }) => status === 'running');
  return new Map(
    running.map(({ attempt, progress }) => {
      const step = progress?.step ?? null;
      const before = stepsBefore.get(attempt.id);
      return [attempt.id, before?.step === step ? before : { step, since: now }];
    }),
  );
}

/** Returns the notification about a job without a new step for `minutes`; null if the job had one, or is not tracked. */
export function stallNotification(
  job: LiveJob,
  lastStep: StepSeen | undefined,
  minutes: number,
  now: WallMs,
  worker: string | null,
): Notification | null {
  if (lastStep === undefined || now - lastStep.since < minutes * 60_000) return null;
  const step =
    lastStep.step === null ? 'It has not reported a step yet.' : `Its last step is ${lastStep.step}.`;
  return {
    event: 'no_progress',
    title: `${nameOf(job)} makes no progress`,
    text: `No new step for ${minutes} min. ${step}`,
    ...about(job),
    worker,
  };
}

const GiB = 2 ** 30;

/** Returns the notification about a disk that soon has too little space for uploads; null if it has enough. */
export function diskNotification(free: number, reserve: number): Notification | null {
  if (free >= Math.max(2 * reserve, GiB)) return null;
  return {
    event: 'disk_low',
    title: 'The disk of the orchestrator is almost full',
    text: `${(free / GiB).toFixed(1)} GiB are free. Uploads are rejected below ${(reserve / GiB).toFixed(1)} GiB.`,
    job: null,
    worker: null,
    page: '/settings/data',
  };
}

/** Returns the notification about a pool that has used its daily budget; null if some of it is left or there is none. */
export function budgetNotification(
  name: string,
  usedHours: number,
  budget: number | null,
): Notification | null {
  if (budget === null || usedHours < budget) return null;
  return {
    event: 'pool_budget',
    title: `Pool ${name} has used its budget`,
    text: `It used ${usedHours.toFixed(1)} of ${budget} GPU-hours today. It orders no more machines until midnight UTC.`,
    job: null,
    worker: null,
    page: '/pools',
  };
}

/** Events that concern no job, so that the user and tag of a rule do not filter them. */
const fleetEvents: ReadonlySet<NotificationEvent> = new Set(['disk_low', 'pool_budget']);

/** Whether a rule requests a notification. */
export function matchesRule(rule: Rule, { event, job }: Notification): boolean {
  if (!rule.enabled || !rule.events.includes(event)) return false;
  if (fleetEvents.has(event)) return true;
  const matchesUser = rule.user === null || rule.user === job?.user;
  const matchesTag = rule.tag === null || job?.tags.includes(rule.tag) === true;
  return matchesUser && matchesTag;
}

/** Returns the channels that get a notification, each once. */
export const channelsFor = (rules: readonly Rule[], notification: Notification): readonly ChannelId[] => [
  ...new Set(rules.filter(rule => matchesRule(rule, notification)).map(({ channelId }) => channelId)),
];
