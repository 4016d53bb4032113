import { WorkerId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { MessageKey, Translator } from '../../i18n/index.ts';
import type { Fleet } from '../../state/fleet.ts';
import { clock, duration, roundEstimate } from './figures.ts';
import { type Needs, needsText } from './needs-text.ts';

/** Keys of texts that count workers, by the code of the reason why these workers cannot take the job. */
const states: Readonly<Record<string, MessageKey>> = {
  busy: 'overview.state.busy',
  settling: 'overview.state.busy',
  leaving: 'overview.state.busy',
  closed: 'jobs.wait.closed',
  draining: 'overview.state.draining',
  quarantined: 'overview.state.quarantined',
  gpu_trouble: 'overview.state.trouble',
  local_limit: 'jobs.wait.localLimit',
  no_stream: 'overview.state.connecting',
  never_registered: 'overview.state.never',
  offline: 'overview.state.offline',
};

/** Keys of texts that name the state of a single worker, by the same codes. */
const workerStates: Readonly<Record<string, MessageKey>> = {
  busy: 'state.busy',
  settling: 'state.busy',
  leaving: 'jobs.check.leaving',
  draining: 'state.draining',
  quarantined: 'state.quarantined',
  gpu_trouble: 'state.trouble',
  no_stream: 'state.connecting',
  never_registered: 'jobs.check.neverRegistered',
  offline: 'state.offline',
};

/** Codes of the checks whose requirements `needsText` names. */
const namedNeeds: ReadonlySet<string> = new Set(['gpu_count', 'vram', 'accelerator', 'label', 'nodes']);

/** Facts about a wait that only the page knows. */
interface WaitContext {
  /** The requirements of the job. */
  readonly needs?: Needs;
  /** The name of the only worker that meets the requirements. */
  readonly worker?: string | undefined;
}

/** Returns the translated reason why a job is pending; null for a reason that only newer servers report. */
export function waitText(
  { code, params, workers }: JobWait,
  t: Translator,
  { needs, worker }: WaitContext = {},
): string | null {
  switch (code) {
    case 'approval':
      return t('jobs.why.approval');
    case 'paused':
      return params['note'] === undefined
        ? t('jobs.why.paused', { by: params['by'] ?? '' })
        : t('jobs.why.pausedNote', { by: params['by'] ?? '', note: params['note'] });
    case 'backoff':
      return t('jobs.wait.backoff', { time: clock(String(params['until']), t) });
    case 'limit':
      if (params['team'] !== undefined) return t('jobs.wait.teamLimit', params);
      return params['user'] === undefined ? t('jobs.wait.limit', params) : t('jobs.wait.userLimit', params);
    case 'ahead':
      return params['count'] === undefined ? t('jobs.wait.aheadMany') : t('jobs.wait.ahead', params);
    case 'after':
      return afterText(params, t);
    case 'busy':
      return workerText({ worker, left: params['left_s'] }, workers, t) ?? busyText(workers, t);
    case 'unmet': {
      const areNamed = workers.length > 0 && workers.every(({ code: check }) => namedNeeds.has(check));
      const list = needs === undefined || !areNamed ? '' : needsText(needs, t);
      return list === '' ? t('jobs.wait.unmet') : t('jobs.wait.unmetNeeds', { needs: list });
    }
    case 'gathering':
      return t('jobs.wait.gathering', params);
    case 'requested':
      return requestedText(params, t);
    case 'storage':
    case 'target':
    case 'next':
    case 'no_workers':
      return t(`jobs.wait.${code}`);
    default:
      return null;
  }
}

/** Text keys of the states of a parent job. */
const parentStates: Readonly<Record<string, MessageKey>> = {
  pending: 'state.pending',
  blocked: 'state.blocked',
  dispatched: 'state.dispatched',
  starting: 'state.starting',
  running: 'state.running',
  recovering: 'state.recovering',
  cancelling: 'state.cancelling',
};

function afterText(
  { count, name = '', state = '', left_s: left, files, input, file = '' }: JobWait['params'],
  t: Translator,
): string {
  if (files === 'uploading') return t('jobs.wait.afterUploading', { job: name });
  if (files === 'missing' && input !== undefined)
    return t('jobs.wait.afterNoFile', { job: name, input, file });
  if (files === 'missing') return t('jobs.wait.afterMissing', { job: name });
  if (state === 'failed' || state === 'cancelled') return t('jobs.wait.afterFailed', { job: name, state });
  const job = parentText({ name, state, left }, t);
  const others = Number(count) - 1;
  return others > 0 ? t('jobs.wait.afterMore', { job, count: others }) : t('jobs.wait.after', { job });
}

type Param = JobWait['params'][string];

/** Names a parent job with its state and remaining time. */
const parentText = ({ name, state, left }: Awaited, t: Translator): string =>
  withState(name, parentStates[state], left, t);

interface Awaited {
  readonly name: Param;
  readonly state: Param;
  readonly left: Param | undefined;
}

/** Adds a state and the remaining time to a name. `left` is in seconds; undefined if the time is unknown. */
function withState(name: Param, key: MessageKey | undefined, left: Param | undefined, t: Translator): string {
  if (key === undefined) return String(name);
  if (left === undefined) return t('jobs.wait.parent', { name, state: t(key) });
  const time = duration(roundEstimate(Number(left)), t.language);
  return t('jobs.wait.parentLeft', { name, state: t(key), left: time });
}

/** Names the only worker that meets the requirements, with the remaining time of its job. Null if there are several. */
function workerText(
  { worker, left }: { readonly worker: string | undefined; readonly left: Param | undefined },
  [reason]: JobWait['workers'],
  t: Translator,
): string | null {
  const key = reason === undefined ? undefined : workerStates[reason.code];
  if (worker === undefined || key === undefined) return null;
  // Only a busy worker takes another job when its current job has ended.
  const time = key === 'state.busy' ? left : undefined;
  return t('jobs.wait.after', { job: withState(worker, key, time, t) });
}

/**
 * Replaces the remaining time in the parameters with the current estimate for `awaited`. `awaited` is the parent of the
 * pending job, or the current job of the only worker that fits. Removes the time if there is no estimate.
 */
export function withTimeLeft(params: JobWait['params'], awaited: JobView | undefined): JobWait['params'] {
  const { left_s: _outdated, ...others } = params;
  const left = awaited?.status === 'running' ? awaited.progress?.eta_s : undefined;
  return left === undefined ? others : { ...others, left_s: left };
}

function requestedText({ pool = '', state = '', reason, until }: JobWait['params'], t: Translator): string {
  const why = reason ?? t('jobs.wait.launch', { state });
  if (until === undefined) return t('jobs.wait.requested', { pool, why });
  return t('jobs.wait.requestedUntil', { pool, why, time: clock(String(until), t) });
}

function busyText(workers: JobWait['workers'], t: Translator): string | null {
  const counts = new Map<MessageKey, number>();
  for (const { code, count } of workers) {
    const key = states[code];
    if (key === undefined) return null;
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  const list = [...counts].map(([key, count]) => t(key, { count })).join(', ');
  return t('jobs.wait.busy', { list });
}

/** Returns the only worker that meets the requirements of a job; undefined if there are several, or if it is unknown. */
export function findOnlyWorker(
  wait: JobWait | null,
  { workers }: Pick<Fleet, 'workers'>,
): WorkerView | undefined {
  const id = WorkerId.safeParse(wait?.params['worker_id']).data;
  return id === undefined ? undefined : workers.get(id);
}
