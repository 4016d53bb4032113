import { JobId } from '../../../../protocol/ids.ts';
import type { Axis, AxisRange } from './lines.ts';
import { maxSmoothing } from './aligned.ts';

/** The settings of the curves. All of them are in the URL. */
export interface View {
  readonly axis: Axis;
  readonly smoothing: number;
  readonly isLog: boolean;
  /** The numbers of the attempts to show; null for all. */
  readonly attempts: ReadonlySet<number> | null;
  /** The visible range of the axis; null for the full range. */
  readonly zoom: AxisRange | null;
  /** Other jobs whose curves are shown for comparison. */
  readonly others: readonly JobId[];
}

/** Maximum number of compared jobs. The colours of more curves would be hard to distinguish. */
export const maxOthers = 4;

/** Reads the view from the URL. Ignores invalid values, and removes `shownJob` from the compared jobs. */
export function parseView(params: URLSearchParams, shownJob: JobId | null = null): View {
  const smoothing = Number(params.get('smooth') ?? 0);
  const attempts = (params.get('attempts') ?? '').split(',').flatMap(word => positive(word) ?? []);
  return {
    axis: params.get('axis') === 'time' ? 'time' : 'step',
    smoothing: Number.isFinite(smoothing) ? Math.min(maxSmoothing, Math.max(0, smoothing)) : 0,
    isLog: params.get('scale') === 'log',
    attempts: attempts.length === 0 ? null : new Set(attempts),
    zoom: zoomOf(params.get('zoom')),
    others: othersOf(params.get('with')).filter(id => id !== shownJob),
  };
}

function othersOf(text: string | null): readonly JobId[] {
  const ids = (text ?? '').split(',').flatMap(word => JobId.safeParse(word).data ?? []);
  return [...new Set(ids)].slice(0, maxOthers);
}

const positive = (word: string): number | null => (/^[1-9]\d{0,8}$/.test(word) ? Number(word) : null);

function zoomOf(text: string | null): AxisRange | null {
  const [, from, to] = /^(\d{1,12})-(\d{1,12})$/.exec(text ?? '') ?? [];
  if (from === undefined || to === undefined || Number(from) >= Number(to)) return null;
  return [Number(from), Number(to)];
}

/**
 * Returns the URL parameters with this change to the view; other parameters stay. A change of the axis resets the zoom,
 * because a range of steps means nothing on a time axis.
 */
export function withView(params: URLSearchParams, change: Partial<View>): URLSearchParams {
  const before = parseView(params);
  const isOtherAxis = change.axis !== undefined && change.axis !== before.axis;
  const view = { ...before, ...(isOtherAxis ? { zoom: null } : {}), ...change };
  const words: Readonly<Record<string, string | null>> = {
    axis: view.axis === 'time' ? 'time' : null,
    smooth: view.smoothing === 0 ? null : String(view.smoothing),
    scale: view.isLog ? 'log' : null,
    attempts: view.attempts === null ? null : [...view.attempts].toSorted((a, b) => a - b).join(','),
    zoom: view.zoom === null ? null : view.zoom.map(Math.round).join('-'),
    with: view.others.join(','),
  };
  const next = new URLSearchParams(params);
  for (const [name, word] of Object.entries(words))
    if (word === null || word === '') next.delete(name);
    else next.set(name, word);
  return next;
}

/** Adds or removes an attempt. Returns null, which means all attempts, if the result would be all or none. */
export function toggled(
  chosen: ReadonlySet<number> | null,
  attempt: number,
  all: readonly number[],
): ReadonlySet<number> | null {
  const next = new Set(chosen ?? all);
  if (!next.delete(attempt)) next.add(attempt);
  return next.size === 0 || all.every(each => next.has(each)) ? null : next;
}
