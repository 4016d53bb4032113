import type { Hours } from '../../../protocol/pool.ts';
import type { WallMs } from '../model.ts';
import type { Launch, Pool } from '../pool-model.ts';

const firstBackoffMs = 30_000;
const maxBackoffMs = 1_800_000;
/** Launches in a row that never registered: something between the machines and the orchestrator is broken. */
const maxNeverJoined = 3;

const defaultNoticeS = 120;

/** Time before its end at which a worker of the pool saves and leaves, in milliseconds. */
export const noticeMsOf = ({ settings }: Pool): number => (settings.notice_s ?? defaultNoticeS) * 1_000;

/**
 * Spreads retries between half and all of the pause. `share`: 0 to 1. Refusals during the pause answer orders from before it, so
 * they do not extend it.
 */
export function backoffAfter({ backoff }: Pool, now: WallMs, share: number): Pool['backoff'] {
  if (backoff !== null && backoff.until > now) return backoff;
  const refusals = (backoff?.refusals ?? 0) + 1;
  const pauseMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(refusals - 1, 10));
  return { refusals, until: now + Math.round(pauseMs * (0.5 + share / 2)) };
}

/** Whether a launch has ended without a worker although its machine had started. Launches that were not needed do not count. */
export const isNeverJoined = ({ state, outcome, joinedAt, startedAt }: Launch): boolean =>
  state === 'ended' &&
  joinedAt === null &&
  startedAt !== null &&
  (outcome === 'never_joined' || outcome === 'failed' || outcome === 'timeout');

/** Pauses the pool after too many launches in a row that never registered. */
export function countNeverJoined(pool: Pool, launch: Launch, now: WallMs): Pool {
  const neverJoined = pool.neverJoined + 1;
  if (neverJoined < maxNeverJoined || pool.pause !== null) return { ...pool, neverJoined };
  const last = launch.detail === null ? '' : `; the last one: ${launch.detail}`;
  const reason =
    `${neverJoined} machines in a row started, and none of their workers registered${last}. ` +
    `Run "trainyard pools test ${pool.name}" to see why, then resume the pool`;
  return { ...pool, neverJoined, pause: { reason, by: 'system', since: now } };
}

/** Remembers a kind of machine that the engine refused for good. */
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

/** Whether a time lies within the hours. The day is the one on which the hours began. */
export function isWithin({ from, to, days: openDays, time_zone: zone }: Hours, now: WallMs): boolean {
  const { day, minutes } = localTime(now, zone);
  const [start, end] = [minutesOf(from), minutesOf(to)];
  const isOn = (dayOfWeek: string | undefined): boolean =>
    openDays === undefined || openDays.some(openDay => openDay === dayOfWeek);
  if (start < end) return isOn(day) && minutes >= start && minutes < end;
  const yesterday = days.at(days.indexOf(day) - 1);
  return (isOn(day) && minutes >= start) || (isOn(yesterday) && minutes < end);
}
