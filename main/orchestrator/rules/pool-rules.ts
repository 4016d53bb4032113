import type { Hours } from '../../../protocol/pool.ts';
import type { WallMs } from '../model.ts';
import type { Launch, Pool } from '../pool-model.ts';

const firstBackoffMs = 30_000;
const maxBackoffMs = 1_800_000;
/** After this many launches in a row that never registered, the pool is paused: its workers probably cannot connect. */
const maxNeverJoined = 3;

const defaultNoticeS = 120;

/** Returns how many milliseconds before the end of its machine a worker of the pool saves and leaves. */
export const noticeMsOf = ({ settings }: Pool): number => (settings.notice_s ?? defaultNoticeS) * 1_000;

/**
 * Returns the pool's backoff after a temporary refusal. Its maximum doubles with each refusal, up to 30 minutes. `share`: a
 * number from 0 to 1 that sets the backoff between half and all of that maximum. Refusals during a backoff concern orders
 * that were sent before the backoff, so they do not extend it.
 */
export function backoffAfter({ backoff }: Pool, now: WallMs, share: number): Pool['backoff'] {
  if (backoff !== null && backoff.until > now) return backoff;
  const refusals = (backoff?.refusals ?? 0) + 1;
  const pauseMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(refusals - 1, 10));
  return { refusals, until: now + Math.round(pauseMs * (0.5 + share / 2)) };
}

/**
 * Whether a launch ended before its worker registered, although its machine had started. Launches that were cancelled,
 * preempted or not needed do not count.
 */
export const isNeverJoined = ({ state, outcome, joinedAt, startedAt }: Launch): boolean =>
  state === 'ended' &&
  joinedAt === null &&
  startedAt !== null &&
  (outcome === 'never_joined' || outcome === 'failed' || outcome === 'timeout');

/** Counts a launch that never registered. Pauses the pool after too many in a row. */
export function countNeverJoined(pool: Pool, launch: Launch, now: WallMs): Pool {
  const neverJoined = pool.neverJoined + 1;
  if (neverJoined < maxNeverJoined || pool.pause !== null) return { ...pool, neverJoined };
  const last = launch.detail === null ? '' : `; the last one: ${launch.detail}`;
  const reason =
    `${neverJoined} machines in a row started, and none of their workers registered${last}. ` +
    `Run "trainyard pools test ${pool.name}" to see why, then resume the pool`;
  return { ...pool, neverJoined, pause: { reason, by: 'system', since: now } };
}

/** Returns the pool with the kind of machine that the engine refused permanently, so that it is not ordered again. */
export function markImpossible(pool: Pool, { nodes, gpus }: Launch, message: string, now: WallMs): Pool {
  const others = pool.impossible.filter(each => each.nodes !== nodes || each.gpus !== gpus);
  return { ...pool, impossible: [...others, { nodes, gpus, message, since: now }] };
}

const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const minutesOf = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

/** Day of the week and minutes since midnight in a time zone. */
function localTime(now: WallMs, timeZone: string): { readonly day: string; readonly minutes: number } {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  // Such as "Wed 08:59"; some versions put a comma after the day.
  const text = format.format(now);
  return { day: text.slice(0, 3).toLowerCase(), minutes: minutesOf(text.slice(-5)) };
}

/** Whether a time lies within the hours. Hours that pass midnight belong to the day on which they begin. */
export function isWithin({ from, to, days: openDays, time_zone: zone }: Hours, now: WallMs): boolean {
  const { day, minutes } = localTime(now, zone);
  const [start, end] = [minutesOf(from), minutesOf(to)];
  const isOn = (dayOfWeek: string | undefined): boolean =>
    openDays === undefined || openDays.some(openDay => openDay === dayOfWeek);
  if (start < end) return isOn(day) && minutes >= start && minutes < end;
  const yesterday = days.at(days.indexOf(day) - 1);
  return (isOn(day) && minutes >= start) || (isOn(yesterday) && minutes < end);
}
