import type { Closed } from '../../protocol/reports.ts';
import type { GpuTrouble } from '../../protocol/worker.ts';
import type { Clock } from '../clock.ts';
import { describeHours, type Hours, openingAt, type Zone } from './hours.ts';
import type { LastInput } from './last-input.ts';
import { createUseFilter } from './use-filter.ts';
import { pause } from '../retry/retry.ts';

export interface AvailabilityDeps {
  /** The hours in which the rig accepts jobs; null for always. */
  readonly hours: Hours | null;
  /** Detects that a person uses the machine; null for a rig that accepts jobs even then. */
  readonly use: UseDeps | null;
  readonly clock: Clock;
  /** Returns the wall-clock time, in ms since the Unix epoch. */
  readonly wall: () => number;
  readonly zone?: Zone;
}

export interface UseDeps {
  /** Returns the time of the last input; null if the system does not report it. */
  readonly lastInput: LastInput | null;
  /** Returns the troubles of the worker's GPUs from the last check. */
  readonly gpuTroubles: () => readonly (GpuTrouble & { readonly ours?: boolean })[];
}

/** Whether the rig accepts jobs now, by the owner's hours and by the use of the machine. */
export interface Availability {
  /** Returns why the rig accepts no jobs now; null when it does. */
  closed(): Closed | null;
  /** Watches until the signal fires. Calls `onChange` after each change. */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>;
}

/** The interval between two checks for use of the machine by a person. */
const checkUseEveryMs = 30_000;
/**
 * The interval between two checks of the hours. A single timer until the next opening is not enough, because the wall
 * clock may be set and the machine may sleep.
 */
const checkHoursEveryMs = 60_000;

export function createAvailability(deps: AvailabilityDeps): Availability {
  const { hours, use, clock, wall, zone } = deps;
  const filter = createUseFilter();
  /** Why the machine counts as in use, as a sentence; null when nobody uses it. */
  let useReason: string | null = null;

  const opening = () => (hours === null ? null : openingAt(hours, wall(), zone));
  const closed = (): Closed | null => {
    const current = opening();
    if (hours !== null && current !== null && !current.isOpen) {
      const opensAt = current.changesAt === null ? null : new Date(current.changesAt).toISOString();
      return {
        reason: 'hours',
        detail: `The rig takes jobs at ${describeHours(hours)} only`.slice(0, maxDetail),
        opens_at: opensAt,
      };
    }
    return useReason === null ? null : { reason: 'in_use', detail: useReason, opens_at: null };
  };

  /** Updates `useReason`. The filter uses the monotonic clock; only the time of the last input is in wall-clock time. */
  const checkUse = async (): Promise<void> => {
    if (use === null) return;
    const input = (await use.lastInput?.().catch(() => null)) ?? null;
    const occupied = use.gpuTroubles().find(({ kind, ours }) => kind === 'held' && ours !== true);
    const now = clock.mono();
    const inputAt = input === null ? null : now - Math.max(0, wall() - input);
    const usedAt = occupied === undefined ? inputAt : now;
    if (!filter.note(usedAt, now)) useReason = null;
    else if (occupied !== undefined) useReason = `Another program uses GPU ${occupied.gpu}`;
    else useReason ??= 'Somebody uses the keyboard or the mouse';
  };

  const msUntilNextCheck = (): number => {
    const changesAt = opening()?.changesAt ?? null;
    const limit = use === null ? checkHoursEveryMs : checkUseEveryMs;
    return changesAt === null ? limit : Math.min(limit, Math.max(1, changesAt - wall()));
  };

  return {
    closed,
    async watch(onChange, signal) {
      let before = JSON.stringify(closed());
      do {
        await checkUse();
        const closedNow = JSON.stringify(closed());
        if (closedNow !== before && !signal.aborted) onChange();
        before = closedNow;
      } while (await pause(clock, msUntilNextCheck(), signal));
    },
  };
}

/** The protocol's limit, in characters. */
const maxDetail = 200;
