import { type Concurrency, everyone, type QueueView } from '../../../protocol/queue.ts';
import type { UiEvent } from '../../../protocol/events.ts';
import type { Fact } from '../table.ts';

type QueueEvent = Extract<UiEvent, { readonly kind: 'queue' }>;

export const queueFacts = (queue: QueueView): readonly Fact[] => [
  ['Queue', queue.paused === null ? 'open' : `${pauseText(queue.paused)}, since ${queue.paused.since}`],
  ['Waiting', `${queue.total_pending}${forApproval(queue.total_blocked)}`],
  ['On workers', String(queue.total_running)],
  ...limitFacts(queue),
];

export const limitFacts = (limits: Concurrency): readonly Fact[] => [
  ['Max running', limitText(limits.max_concurrent)],
  ['Max per user', limitText(limits.user_max_concurrent)],
  ['Max per team', limits.team_max_concurrent === null ? null : limitText(limits.team_max_concurrent)],
  ...Object.entries(limits.team_limits).map(([team, most]): Fact => [`Max of team ${team}`, limitText(most)]),
  ['Fair share', limits.enable_fair_share ? null : 'off: no team limits'],
  ['GPUs on this machine', localText(limits.local_gpu_max_concurrent, null)],
  ['Jobs on this machine', localText(limits.local_job_max_concurrent, 1)],
  ['Approval', approvalText(limits.approval_required_for)],
];

/** Returns null for the default value. */
const localText = (most: number | null, usual: number | null): string | null =>
  most === usual ? null : limitText(most);

const approvalText = (users: readonly string[]): string | null => {
  if (users.length === 0) return null;
  const named = users.filter(user => user !== everyone);
  const all = users.includes(everyone) ? ['all users who cannot manage the queue'] : [];
  return `required for ${[...all, ...named].join(', ')}`;
};

/** The line above a table; null while the queue is not paused. */
export const pausedLine = ({ paused }: QueueView): string | null =>
  paused === null ? null : `Queue ${pauseText(paused)}`;

/** Describes a queue event. The event carries the queue's current state, which may have changed again since. */
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

const limitText = (most: number | null): string => (most === null ? 'unlimited' : String(most));

const forApproval = (blocked: number): string => (blocked === 0 ? '' : `, ${blocked} of them for approval`);
