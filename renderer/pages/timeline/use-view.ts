import { useCallback, useMemo, useState } from 'react';
import { useNow } from '../../ui/time.tsx';
import {
  nearestZoom,
  nextZoom,
  pan,
  type TimeWindow,
  windowAround,
  type Zoom,
  zooms,
  zoomTo,
} from './scale.ts';

/** The visible range of a timeline, and functions that change it. */
export interface View {
  readonly now: number;
  readonly range: TimeWindow;
  readonly zoom: Zoom;
  /** True while the range moves with the current time. */
  readonly isFollowing: boolean;
  /** Moves the range by a share of its length. Positive values show later times. */
  readonly panBy: (share: number) => void;
  readonly show: (range: TimeWindow) => void;
  readonly setZoom: (zoom: Zoom) => void;
  /** Changes to the next zoom level: 1 shows a shorter range, -1 a longer range. */
  readonly step: (direction: 1 | -1) => void;
  /** Multiplies the length of the range by `factor`. The time `anchor` stays at its position. */
  readonly scaleBy: (factor: number, anchor: number) => void;
  readonly follow: () => void;
}

interface State {
  readonly spanMs: number;
  /** The range after the user has moved it; null while the range follows the current time. */
  readonly fixed: TimeWindow | null;
}

/** Manages a range that follows the current time until the user moves it. `fixed` is an initial range that does not follow. */
export function useView(spanMs: number, fixed: TimeWindow | null = null): View {
  const now = useNow();
  const [state, setState] = useState<State>({ spanMs, fixed });
  const range = useMemo(() => state.fixed ?? windowAround(now, state.spanMs), [state, now]);
  const show = useCallback((next: TimeWindow) => setState({ spanMs: next.to - next.from, fixed: next }), []);
  const follow = useCallback(() => setState(({ spanMs: kept }) => ({ spanMs: kept, fixed: null })), []);
  const setZoom = useCallback(
    (zoom: Zoom) =>
      setState(({ fixed: was }) => ({
        spanMs: zooms[zoom],
        fixed: was && zoomTo(was, zooms[zoom], (was.from + was.to) / 2),
      })),
    [],
  );
  return useMemo(
    () => ({
      now,
      range,
      zoom: nearestZoom(range),
      isFollowing: state.fixed === null,
      show,
      follow,
      setZoom,
      panBy: share => show(pan(range, share * (range.to - range.from))),
      step: direction => setZoom(nextZoom(range, direction)),
      scaleBy: (factor, anchor) => show(zoomTo(range, (range.to - range.from) * factor, anchor)),
    }),
    [now, range, state, show, follow, setZoom],
  );
}
