import type { NoticeKinds } from '../../protocol/desktop-api.ts';
import type { UiEvent } from '../../protocol/events.ts';
import type { Words } from './words/index.ts';

/** A notification for the user. */
export interface Notice {
  readonly kind: keyof NoticeKinds;
  /** Id of the fleet; null for this computer's own. */
  readonly fleet: string | null;
  /** Name of the job's config. */
  readonly name: string;
  /** The worker that went offline or that ran the job; null for none. */
  readonly worker: string | null;
  /** Error message of a failed job. */
  readonly why: string | null;
  /** The panel page with the details. */
  readonly page: string;
}

const kinds: ReadonlyMap<string, Notice['kind']> = new Map([
  ['job.completed', 'job_completed'],
  ['job.failed', 'job_failed'],
  ['job.recovering', 'worker_lost'],
]);

/** Returns the notification for an event; null if the event needs none. */
export function noticeOf(fleet: string | null, event: UiEvent, enabledKinds: NoticeKinds): Notice | null {
  if (event.kind !== 'job' || event.job === null) return null;
  const { config_name: name, worker_name: worker, error_message: why } = event.job;
  const about = { fleet, name, worker, page: `/jobs/${event.job_id}` };
  const kind = kinds.get(event.type);
  if (kind === undefined || !enabledKinds[kind]) return null;
  if (kind === 'worker_lost') return lostWorker(event, { ...about, kind, why: null });
  return { ...about, kind, why: kind === 'job_failed' ? why : null };
}

/**
 * Returns the notification about a lost worker; null if the worker announced its shutdown, because it is then usually restarting.
 */
function lostWorker(event: Extract<UiEvent, { kind: 'job' }>, notice: Notice): Notice | null {
  if (event.worker?.status_reason === 'goodbye') return null;
  return event.worker_id === null ? notice : { ...notice, page: `/workers/${event.worker_id}` };
}

export interface DesktopNotification extends Pick<Notice, 'fleet'> {
  readonly title: string;
  readonly body: string;
  readonly page: string;
}

/** If more than this many notifications are due together, one summary replaces them. */
const maxAlone = 2;
/** Maximum length of an error message in a notification, in characters. */
const maxWhy = 200;

/** Returns the notifications to show: one per notice, or one summary for many notices. */
export function toNotifications(notices: readonly Notice[], words: Words): readonly DesktopNotification[] {
  if (notices.length <= maxAlone) return notices.map(notice => toNotification(notice, words));
  const count = (kind: Notice['kind']): number => notices.filter(notice => notice.kind === kind).length;
  const parts = [
    words.completed(count('job_completed')),
    words.failed(count('job_failed')),
    words.lost(count('worker_lost')),
  ];
  const [first] = notices;
  if (first === undefined) return [];
  const areAllWorkers = notices.every(({ kind }) => kind === 'worker_lost');
  const haveSamePage = notices.every(({ page }) => page === first.page);
  const list = areAllWorkers ? '/workers' : '/jobs';
  const page = haveSamePage ? first.page : list;
  return [{ title: words.several, body: parts.filter(Boolean).join(' · '), fleet: first.fleet, page }];
}

function toNotification({ kind, fleet, name, worker, why, page }: Notice, words: Words): DesktopNotification {
  switch (kind) {
    case 'job_completed':
      return { title: words.jobCompleted, body: name, fleet, page };
    case 'job_failed':
      return {
        title: words.jobFailed,
        body: why ? `${name}: ${why.slice(0, maxWhy)}` : name,
        fleet,
        page,
      };
    case 'worker_lost':
      return { title: words.workerLost(worker ?? '?'), body: words.jobOfWorker(name), fleet, page };
  }
}

/** Delay before notifications are shown, so that several can be merged. The delay grows while many notifications arrive. */
const firstMs = 1_500;
const maxMs = 30_000;

export interface BurstDeps {
  readonly after: (ms: number, run: () => void) => () => void;
  readonly show: (notices: readonly Notice[]) => void;
}

/** Merges notifications that arrive in quick succession. */
export function createBurst({ after, show }: BurstDeps) {
  let waiting: readonly Notice[] = [];
  let windowMs = firstMs;
  let cancelTimer: (() => void) | null = null;
  const flush = (): void => {
    const ready = waiting;
    waiting = [];
    cancelTimer = null;
    if (ready.length === 0) {
      windowMs = firstMs;
      return;
    }
    show(ready);
    windowMs = ready.length > maxAlone ? Math.min(maxMs, windowMs * 4) : firstMs;
    // The burst ends when no notification arrives for the current delay.
    cancelTimer = after(windowMs, flush);
  };
  return {
    add(notice: Notice): void {
      waiting = [...waiting, notice];
      cancelTimer ??= after(windowMs, flush);
    },
    stop(): void {
      cancelTimer?.();
      waiting = [];
    },
  };
}
