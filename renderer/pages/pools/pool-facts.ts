import type { EngineSettings, Hours, PoolView } from '../../../protocol/pool.ts';
import type { IconName } from '../../ui/icon.tsx';

export type PoolState =
  | 'paused'
  | 'unreachable'
  | 'budget'
  | 'full'
  | 'ordering'
  | 'working'
  | 'refused'
  | 'ready';

/** Returns the current state of the pool. Reasons that prevent all orders have precedence. */
export function stateOf({ paused, unreachable, open, usage, settings, impossible }: PoolView): PoolState {
  if (paused !== null) return 'paused';
  if (unreachable !== null) return 'unreachable';
  const { gpu_hours_per_day: budget, max_launches: max } = settings;
  if (budget !== null && usage.gpu_hours_today >= budget) return 'budget';
  if (open.launches >= max) return 'full';
  if (open.launches > open.joined) return 'ordering';
  if (open.launches > 0) return 'working';
  return impossible.length > 0 ? 'refused' : 'ready';
}

/** The names of worker and job states whose icons and colours the states of pools use. */
export const stateIcons = {
  paused: 'draining',
  unreachable: 'failed',
  budget: 'blocked',
  full: 'blocked',
  ordering: 'starting',
  working: 'running',
  refused: 'recovering',
  ready: 'idle',
} as const satisfies Readonly<Record<PoolState, IconName>>;

/** Returns the label of the resume button; null if there is nothing to resume. "Try again" follows a failure of the engine. */
export const resumeActOf = ({ paused, impossible }: PoolView): 'resume' | 'tryAgain' | null => {
  if (paused !== null) return paused.by === 'system' ? 'tryAgain' : 'resume';
  return impossible.length > 0 ? 'tryAgain' : null;
};

export interface Meter {
  readonly name: 'launches' | 'gpus' | 'budget';
  readonly used: number;
  /** Null for no limit. */
  readonly max: number | null;
}

export const metersOf = ({ open, usage, settings }: PoolView): readonly Meter[] => [
  { name: 'launches', used: open.launches, max: settings.max_launches },
  { name: 'gpus', used: open.gpus, max: settings.max_gpus },
  { name: 'budget', used: usage.gpu_hours_today, max: settings.gpu_hours_per_day },
];

/** Returns 0 to 100; null without a limit. A limit of 0 is always reached. */
export function percentOf({ used, max }: Meter): number | null {
  if (max === null) return null;
  return max === 0 ? 100 : Math.min(100, (used / max) * 100);
}

/** Returns the partition, queue, namespace or programs folder of an engine; null for the default of the engine. */
export function queueOf(engine: EngineSettings): string | null {
  switch (engine.kind) {
    case 'slurm':
      return engine.partition;
    case 'kubernetes':
      return engine.queue ?? engine.namespace;
    case 'command':
      return engine.programs;
  }
}

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];
export const allDays: readonly Weekday[] = weekdays;

/** Returns the short name of a weekday in a language. */
export function dayName(day: Weekday, language: string): string {
  // The first of January 2024 was a Monday.
  const date = Date.UTC(2024, 0, 1 + weekdays.indexOf(day));
  return new Intl.DateTimeFormat(language, { weekday: 'short', timeZone: 'UTC' }).format(date);
}

/** Returns the days as text, such as "Mon, Tue"; null for every day. */
export function daysText({ days }: Hours, language: string): string | null {
  if (days === undefined || days.length === weekdays.length) return null;
  const names = weekdays.filter(day => days.includes(day)).map(day => dayName(day, language));
  return new Intl.ListFormat(language, { type: 'unit', style: 'short' }).format(names);
}
