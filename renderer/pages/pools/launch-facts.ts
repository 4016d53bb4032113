import type { LaunchView } from '../../../protocol/pool.ts';
import type { IconName } from '../../ui/icon.tsx';

export type PhaseName = 'ordering' | 'queue' | 'joining' | 'work';

/** A phase of a launch, between its order and its end. */
export interface Phase {
  readonly name: PhaseName;
  /** Duration of the phase; null if the launch has not reached this phase, or if its start is unknown. */
  readonly seconds: number | null;
  /** `failed`: the launch ended in this phase, without success. */
  readonly state: 'ahead' | 'now' | 'done' | 'failed';
}

const harmlessOutcomes: ReadonlySet<LaunchView['outcome']> = new Set(['finished', 'not_needed', 'cancelled']);

export const isOpen = ({ state }: Pick<LaunchView, 'state'>): boolean => state !== 'ended';
/** Returns true if the launch has ended because of a problem. */
export const isTroubled = ({ outcome }: Pick<LaunchView, 'outcome'>): boolean =>
  outcome !== null && !harmlessOutcomes.has(outcome);

/** Returns the phases of a launch in order. `now` is in milliseconds since 1970, by the server's clock. */
export function phasesOf(launch: LaunchView, now: number): readonly Phase[] {
  const ended = launch.ended_at;
  const starts: readonly (readonly [PhaseName, string | null])[] = [
    ['ordering', launch.ordered_at],
    ['queue', launch.submitted_at],
    ['joining', launch.started_at],
    ['work', launch.joined_at],
  ];
  // Use the last known time, because an engine may report the start before it confirms the order.
  const last = starts.findLastIndex(([, at]) => at !== null);
  return starts.map(([name, at], index) => {
    if (index > last) return { name, seconds: null, state: 'ahead' };
    const end = starts.slice(index + 1).find(([, next]) => next !== null)?.[1] ?? ended;
    const seconds = at === null ? null : secondsBetween(Date.parse(at), end === null ? now : Date.parse(end));
    return { name, seconds, state: index < last ? 'done' : stateOfLast(launch) };
  });
}

function stateOfLast(launch: LaunchView): Phase['state'] {
  if (isOpen(launch)) return 'now';
  return isTroubled(launch) ? 'failed' : 'done';
}

/** Returns 0 for a negative difference, because the clock of an engine may differ from the server's clock. */
const secondsBetween = (from: number, to: number): number => Math.max(0, (to - from) / 1_000);

/** Returns the relative width of a phase. The square root keeps phases of seconds visible next to phases of hours. */
export const weightOf = ({ seconds }: Phase): number => Math.max(1, Math.sqrt(seconds ?? 0));

/** Sorts open launches before ended launches, and newer launches before older launches. */
export const inOrder = (launches: readonly LaunchView[]): readonly LaunchView[] =>
  launches.toSorted(
    (a, b) => Number(isOpen(b)) - Number(isOpen(a)) || Date.parse(b.ordered_at) - Date.parse(a.ordered_at),
  );

const icons = {
  wanted: 'dispatched',
  submitting: 'connecting',
  unclear: 'recovering',
  waiting: 'pending',
  running: 'starting',
  joined: 'running',
  ending: 'draining',
  ended: 'completed',
} as const satisfies Readonly<Record<LaunchView['state'], IconName>>;

/** Returns the name of the job or worker state whose icon and colour the launch uses. */
export function iconOf(
  launch: Pick<LaunchView, 'state' | 'outcome'>,
): (typeof icons)[LaunchView['state']] | 'failed' | 'cancelled' {
  if (isTroubled(launch)) return 'failed';
  if (launch.outcome === 'not_needed' || launch.outcome === 'cancelled') return 'cancelled';
  return icons[launch.state];
}

/** Returns why a test failed; null if the test passed or has not ended. */
export function failureOfTest(launch: LaunchView): Exclude<LaunchView['outcome'], null> | null {
  if (launch.outcome === null || (launch.outcome === 'finished' && launch.joined_at !== null)) return null;
  // The launch finished, but its worker never connected to the server.
  return launch.outcome === 'finished' ? 'never_joined' : launch.outcome;
}
