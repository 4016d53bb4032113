import { emptySummary, connectedCount, type Summary } from './summary.ts';
import type { Words } from './words/index.ts';

/** An item of the tray menu. */
export type TrayItem =
  | { readonly kind: 'text'; readonly label: string }
  | { readonly kind: 'separator' }
  | { readonly kind: 'act'; readonly label: string; readonly act: TrayAct };

export type TrayAct =
  | { readonly type: 'open'; readonly page: string | null }
  | { readonly type: 'pause' }
  | { readonly type: 'resume' }
  | { readonly type: 'quit' };

export interface TrayState {
  /** Name of the current fleet. */
  readonly fleet: string;
  /** Null while the orchestrator is unreachable. */
  readonly summary: Summary | null;
}

/** Maximum number of jobs in the menu. */
const maxJobs = 8;
/** Maximum length of a job's name in the menu, in characters. */
const maxName = 40;

/** Returns the items of the tray menu: the fleet's state, its running jobs, and the actions. */
export function trayMenu({ fleet, summary }: TrayState, words: Words): readonly TrayItem[] {
  const { live, isPaused, mayPause } = summary ?? emptySummary;
  const jobs = [...live.values()];
  const shown = jobs.slice(0, maxJobs).map(
    ({ id, name, percent }): TrayItem => ({
      kind: 'act',
      label: percent === null ? menuLabel(name) : `${menuLabel(name)}  ${percent} %`,
      act: { type: 'open', page: `/jobs/${id}` },
    }),
  );
  const more: readonly TrayItem[] =
    jobs.length > maxJobs
      ? [{ kind: 'act', label: words.moreJobs(jobs.length - maxJobs), act: { type: 'open', page: '/jobs' } }]
      : [];
  const pausing: readonly TrayItem[] =
    mayPause && isPaused !== null
      ? [
          {
            kind: 'act',
            label: isPaused ? words.resume : words.pause,
            act: { type: isPaused ? 'resume' : 'pause' },
          },
        ]
      : [];
  return [
    { kind: 'text', label: trayText({ fleet, summary }, words) },
    ...shown,
    ...more,
    { kind: 'separator' },
    { kind: 'act', label: words.open, act: { type: 'open', page: null } },
    ...pausing,
    { kind: 'separator' },
    { kind: 'act', label: words.quit, act: { type: 'quit' } },
  ];
}

/** Describes the state of the fleet in one line. */
export function trayText({ fleet, summary }: TrayState, words: Words): string {
  if (summary === null) return `${fleet}: ${words.unreachable}`;
  const state = [words.workersConnected(connectedCount(summary)), words.jobsRunning(summary.live.size)];
  return `${fleet}: ${[...state, ...(summary.isPaused === true ? [words.paused] : [])].join(', ')}`;
}

/** Shortens a name, and doubles each `&`, because a single `&` in a menu underlines the next letter. */
const menuLabel = (name: string): string =>
  (name.length > maxName ? `${name.slice(0, maxName - 1)}…` : name).replaceAll('&', '&&');
