import type { ValueOf } from '../../../protocol/client.ts';
import type { UiEvent } from '../../../protocol/events.ts';
import type { queueApi } from '../../../protocol/queue-api.ts';
import { type Concurrency, everyone, type QueueView } from '../../../protocol/queue.ts';
import type { UsageDay } from '../../../protocol/usage-api.ts';
import { duration } from '../progress-bar.ts';
import { costText, energyText, gpuHoursText } from '../usage-text.ts';
import type { Column, Fact } from '../table.ts';

type QueueEvent = Extract<UiEvent, { readonly kind: 'queue' }>;

export const queueFacts = (queue: QueueView): readonly Fact[] => [
  ['Queue', queue.paused === null ? 'open' : `${pauseText(queue.paused)}, since ${queue.paused.since}`],
  ['Pending', `${queue.total_pending}${forApproval(queue.total_blocked)}`],
  ['On workers', String(queue.total_running)],
  ...limitFacts(queue),
];

export const limitFacts = (limits: Concurrency): readonly Fact[] => [
  ['Max running', limitText(limits.max_concurrent)],
  ['Max per user', limitText(limits.user_max_concurrent)],
  ['Max per team', limits.team_max_concurrent === null ? null : limitText(limits.team_max_concurrent)],
  ...Object.entries(limits.team_limits).map(
    ([team, limit]): Fact => [`Max of team ${team}`, limitText(limit)],
  ),
  ['Fair share', limits.enable_fair_share ? null : 'off: no team limits'],
  ['GPUs on this machine', localLimitText(limits.local_gpu_max_concurrent, null)],
  ['Jobs on this machine', localLimitText(limits.local_job_max_concurrent, 1)],
  ['Approval', approvalText(limits.approval_required_for)],
];

/** Returns null for the default value. */
const localLimitText = (limit: number | null, defaultLimit: number | null): string | null =>
  limit === defaultLimit ? null : limitText(limit);

const approvalText = (users: readonly string[]): string | null => {
  if (users.length === 0) return null;
  const userNames = users.filter(user => user !== everyone);
  const all = users.includes(everyone) ? ['all users who cannot manage the queue'] : [];
  return `required for ${[...all, ...userNames].join(', ')}`;
};

/** Returns the line about the pause for the top of a table; null while the queue is not paused. */
export const pausedLine = ({ paused }: QueueView): string | null =>
  paused === null ? null : `Queue ${pauseText(paused)}`;

/** Describes a queue event. The event carries the current state of the queue, which may be newer than the event. */
export function queueEventText({ type, queue }: QueueEvent): string {
  switch (type) {
    case 'queue.paused':
      return queue.paused === null ? 'queue paused' : `queue ${pauseText(queue.paused)}`;
    case 'queue.resumed':
      return 'queue resumed';
    case 'queue.limits_changed':
      return `queue limits: max running ${limitText(queue.max_concurrent)}, max per user ${limitText(queue.user_max_concurrent)}`;
    case 'queue.cleaned':
      return 'old jobs deleted';
  }
}

const pauseText = ({ by, note }: NonNullable<QueueView['paused']>): string =>
  `paused by ${by}${note === null ? '' : `: ${note}`}`;

const limitText = (limit: number | null): string => (limit === null ? 'unlimited' : String(limit));

const forApproval = (blocked: number): string =>
  blocked === 0 ? '' : `, ${blocked} of them ${blocked === 1 ? 'needs' : 'need'} approval`;

type Stats = ValueOf<typeof queueApi.stats>;
type StuckJobs = Stats['waiting_for_offline'][number];

export const statsFacts = (figures: Stats): readonly Fact[] => [
  ...queueFacts(figures),
  ['Jobs', lines(Object.entries(figures.by_status).map(([word, count]) => `${count} ${word}`))],
  [
    'Users',
    lines(
      Object.entries(figures.by_user).map(
        ([user, { pending, running }]) => `${user}: ${pending} pending, ${running} on workers`,
      ),
    ),
  ],
  ['Ended in 24 h', endedText(figures.ended_24h)],
  ['This machine', localText(figures.local)],
  ['GPU-hours', figures.gpu_hours_24h === 0 ? null : `${figures.gpu_hours_24h} in 24 h`],
  [
    'Unschedulable',
    lines(
      figures.unsatisfiable.map(({ job_id: id, count }) =>
        count === 1 ? id : `${id} and ${count - 1} like it`,
      ),
    ),
  ],
  ['Offline workers', lines(figures.waiting_for_offline.map(offlineText))],
  ['Average wait', figures.avg_wait_seconds === null ? null : duration(figures.avg_wait_seconds)],
  ['Average run', figures.avg_run_seconds === null ? null : duration(figures.avg_run_seconds)],
];

const offlineText = ({ worker_name: name, worker_count: workers, count }: StuckJobs): string => {
  const others = workers === 1 ? '' : ` or ${workers - 1} more`;
  return `${name}${others}: ${count} pending ${count === 1 ? 'job needs' : 'jobs need'} it`;
};

/** Returns null when this machine has no worker and no job targets it. */
const localText = (local: Stats['local']): string | null =>
  local === null || local.total_gpus + local.running_jobs + local.pending_jobs === 0
    ? null
    : `${local.running_jobs} running, ${local.pending_jobs} pending, ${local.allocated_gpus.length} of ${local.total_gpus} GPUs in use`;

const endedText = ({ completed, failed, cancelled }: Stats['ended_24h']): string =>
  `${completed} completed, ${failed} failed, ${cancelled} cancelled`;

const lines = (all: readonly string[]): string | null => all.join('\n') || null;

export const usageColumns = (currency: string | null): readonly Column<UsageDay>[] => [
  { title: 'DAY', text: ({ day }) => day },
  { title: 'GPU-HOURS', text: ({ gpu_hours: hours }) => gpuHoursText(hours) },
  { title: 'ENERGY', text: ({ energy_kwh: kwh }) => energyText(kwh) ?? '-' },
  { title: 'COST', text: ({ cost }) => costText(cost, currency) ?? '-' },
];
