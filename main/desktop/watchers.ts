import type { UiEvent } from '../../protocol/events.ts';
import type { Summary } from './summary.ts';
import { type FleetLine, watchFleet } from './watch.ts';

/** Id of a fleet; null for this computer's own. */
export type FleetKey = string | null;

export interface WatchersDeps {
  readonly after: (ms: number, run: () => void) => () => void;
  readonly onEvent: (fleet: FleetKey, event: UiEvent) => void;
  readonly onChange: (fleet: FleetKey) => void;
}

interface Watched {
  readonly line: FleetLine;
  readonly stop: () => void;
  summary: Summary | null;
  trouble: string | null;
}

/** Watches the current fleet, and this computer's own while it runs. */
export function createWatchers({ after, onEvent, onChange }: WatchersDeps) {
  const watched = new Map<FleetKey, Watched>();
  const start = (fleet: FleetKey, line: FleetLine): void => {
    const one: Watched = {
      line,
      summary: null,
      trouble: null,
      stop: watchFleet({
        line,
        after,
        onEvent: event => onEvent(fleet, event),
        onSummary(summary, trouble) {
          one.summary = summary;
          one.trouble = trouble;
          onChange(fleet);
        },
      }),
    };
    watched.set(fleet, one);
  };
  const stop = (fleet: FleetKey): void => {
    watched.get(fleet)?.stop();
    watched.delete(fleet);
  };
  return {
    /** Watches exactly these fleets and stops watching all others. */
    follow(lines: ReadonlyMap<FleetKey, FleetLine>): void {
      for (const [fleet, { line }] of watched) if (!isSame(lines.get(fleet), line)) stop(fleet);
      for (const [fleet, line] of lines) if (!watched.has(fleet)) start(fleet, line);
    },
    summary: (fleet: FleetKey): Summary | null => watched.get(fleet)?.summary ?? null,
    trouble: (fleet: FleetKey): string | null => watched.get(fleet)?.trouble ?? null,
    stop(): void {
      for (const fleet of watched.keys()) stop(fleet);
    },
  };
}

const isSame = (one: FleetLine | undefined, other: FleetLine): boolean =>
  one !== undefined && one.url === other.url && one.token === other.token && one.fetch === other.fetch;
