import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { maxTimelineDays } from '../../../protocol/timeline-api.ts';
import type { WallMs } from '../model.ts';

const dayMs = 86_400_000;

/** If `from` or `to` is null, the default applies. */
interface RequestedRange {
  readonly from: WallMs | null;
  readonly to: WallMs | null;
}

interface TimeRange {
  readonly from: WallMs;
  readonly to: WallMs;
}

/** Fills in the defaults: the last 24 hours. Refuses a range that is empty or too long. */
export function timelineRange(requested: RequestedRange, now: WallMs): Outcome<TimeRange> {
  const to = requested.to ?? now;
  const from = requested.from ?? to - dayMs;
  if (from >= to) return refuse('invalid_request', '`from` must be before `to`');
  if (to - from > maxTimelineDays * dayMs)
    return refuse('invalid_request', `\`from\` must be at most ${maxTimelineDays} days before \`to\``);
  return accept({ from, to });
}
