import type { Closed } from '../../protocol/reports.ts';
import type { GpuTrouble } from '../../protocol/worker.ts';
import type { Clock } from '../clock.ts';
import { describeHours, type Hours, openingAt, type Zone } from './hours.ts';
import type { LastInput } from './last-input.ts';
import { createUseFilter } from './use-filter.ts';
import { pause } from '../retry/retry.ts';

export interface AvailabilityDeps {
  /** Null for a rig that is open all day. */
  readonly hours: Hours | null;
  /** How to find out that somebody uses the machine; null for a rig that does not yield to its user. */
  readonly use: UseDeps | null;
  readonly clock: Clock;
  /** ms since the Unix epoch. */
  readonly wall: () => number;
  readonly zone?: Zone;
}

export interface UseDeps {
  /** Null where the system does not tell. */
  readonly lastInput: LastInput | null;
  /** The troubles of the worker's GPUs, as the last check found them. */
  readonly gpuTroubles: () => readonly (GpuTrouble & { readonly ours?: boolean })[];
}

/** Whether the rig takes jobs now, as its owner wants it. */
export interface Availability {
  /** Null when the rig is open. */
  closed(): Closed | null;
  /** Watches until the signal fires. Calls `onChange` after each change. */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>;
}

/** The interval of looks for a user. */
const lookEveryMs = 30_000;
/** The wall clock may be set, and the machine may sleep, so a timer until the next opening is not enough. */
const checkEveryMs = 60_000;

export function createAvailability(deps: AvailabilityDeps): Availability {
  const { hours, use, clock, wall, zone } = deps;
  const filter = createUseFilter();
  let user: string | null = null;

  const opening = () => (hours === null ? null : openingAt(hours, wall(), zone));
  const closed = (): Closed | null => {
    const now = opening();
    if (hours !== null && now !== null && !now.isOpen) {
      const opensAt = now.changesAt === null ? null : new Date(now.changesAt).toISOString();
      return {
        reason: 'hours',
        detail: `The rig takes jobs at ${describeHours(hours)} only`.slice(0, maxDetail),
        opens_at: opensAt,
      };
    }
    return user === null ? null : { reason: 'in_use', detail: user, opens_at: null };
  };

  /** Uses the monotonic clock for the filter: only the time of the last input comes from the wall clock. */
  const look = async (): Promise<void> => {
    if (use === null) return;
    const input = (await use.lastInput?.().catch(() => null)) ?? null;
    const held = use.gpuTroubles().find(({ kind, ours }) => kind === 'held' && ours !== true);
    const now = clock.mono();
    const usedAt = held !== undefined ? now : input === null ? null : now - Math.max(0, wall() - input);
    if (!filter.note(usedAt, now)) user = null;
    else if (held !== undefined) user = `Another program uses GPU ${held.gpu}`;
    else user ??= 'Somebody uses the keyboard or the mouse';
  };

  const nextMs = (): number => {
    const changesAt = opening()?.changesAt ?? null;
    const limit = use === null ? checkEveryMs : lookEveryMs;
    return changesAt === null ? limit : Math.min(limit, Math.max(1, changesAt - wall()));
  };

  return {
    closed,
    async watch(onChange, signal) {
      let known = JSON.stringify(closed());
      do {
        await look();
        const now = JSON.stringify(closed());
        if (now !== known && !signal.aborted) onChange();
        known = now;
      } while (await pause(clock, nextMs(), signal));
    },
  };
}

/** The limit of the protocol. */
const maxDetail = 200;
