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

/** The visible range, and the ways to change it. */
export interface View {
  readonly now: number;
  readonly range: TimeWindow;
  readonly zoom: Zoom;
  /** Whether the range moves on with the time. */
  readonly isFollowing: boolean;
  /** Pans by a share of the width: 0.5 shows later times. */
  readonly panBy: (share: number) => void;
  readonly show: (range: TimeWindow) => void;
  readonly setZoom: (zoom: Zoom) => void;
  /** Goes to the next level: 1 shows less time, -1 shows more. */
  readonly step: (direction: 1 | -1) => void;
  /** Multiplies the visible time by `factor`, around a time. */
  readonly scaleBy: (factor: number, anchor: number) => void;
  readonly follow: () => void;
}

interface State {
  readonly spanMs: number;
  /** Null while the range follows the time. */
  readonly fixed: TimeWindow | null;
}

/** Shows a range that follows the time until the user moves it. `fixed` starts with a range that does not follow. */
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
