import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { JobId } from '../../../protocol/ids.ts';
import { Empty } from '../../ui/empty.tsx';
import { Chart } from '../jobs/curves/chart.tsx';
import { Controls } from '../jobs/curves/controls.tsx';
import { useCompared } from '../jobs/curves/curve-reads.ts';
import '../jobs/curves/curves.css';
import { chartsOf } from '../jobs/curves/keys.ts';
import {
  type AxisRange,
  coveringRange,
  type Curves,
  spanOf,
  wholeRange,
  widened,
} from '../jobs/curves/lines.ts';
import { usePalette } from '../jobs/curves/palette.ts';
import { useWidth } from '../jobs/curves/use-width.ts';
import { parseView, type View, withView } from '../jobs/curves/view.ts';
import type { Run } from './runs.ts';
import { useRunT } from './texts.tsx';

interface RunCurvesProps {
  readonly ids: readonly JobId[];
  /** The jobs as last read. Each new array makes the charts read the curves again. */
  readonly runs: readonly Run[];
}

const names = { workerOf: () => '', attempts: 1 };

/** Overlays the curves of several jobs: one chart per metric of their trainers. */
export function RunCurves({ ids, runs }: RunCurvesProps) {
  const t = useRunT();
  const palette = usePalette();
  const [params, setParams] = useSearchParams();
  const idList = ids.join();
  const view = useMemo(
    (): View => ({
      ...parseView(params),
      attempts: null,
      // `ids` is a new array after each read. The memo depends on the text of the ids, which stays equal.
      others: idList.split(',').flatMap(word => JobId.safeParse(word).data ?? []),
    }),
    [params, idList],
  );
  const change = useCallback(
    (next: Partial<View>) =>
      setParams(before => withView(before, { ...next, others: [] }), { replace: true }),
    [setParams],
  );
  const { grid, width } = useWidth();
  // `useCompared` reads the curves again whenever this object changes.
  const noCurves = useMemo(() => emptyCurves(runs), [runs]);
  const compared = useCompared(view, noCurves, width);
  const plans = useMemo(
    () =>
      chartsOf([...new Set(compared.flatMap(({ curves }) => curves.keys.map(({ key }) => key)))]).filter(
        ({ kind }) => kind === 'trainer',
      ),
    [compared],
  );
  const { axis, zoom } = view;
  const all = useMemo(
    () => coveringRange(compared.map(({ curves }) => spanOf(curves, axis, null))) ?? ([0, 1] as const),
    [compared, axis],
  );
  const zoomTo = useCallback((selected: AxisRange) => change({ zoom: wholeRange(selected) }), [change]);
  const isEmpty = compared.length === ids.length && plans.length === 0;
  return (
    <div ref={grid} className="curves" aria-busy={compared.length < ids.length}>
      {isEmpty && <Empty why={t('runs.noCurves')} />}
      {plans.length > 0 && (
        <>
          <Controls view={view} attempts={[]} nameOf={String} range={all} onChange={change} />
          <div className="curve-grid">
            {plans.map(plan => (
              <Chart
                key={plan.id}
                curves={noCurves}
                onZoom={zoomTo}
                marks={[]}
                range={zoom ?? widened(all)}
                {...{ plan, compared, view, names, palette, width }}
              />
            ))}
          </div>
        </>
      )}
    </div>
  );
}

const emptyCurves = (runs: readonly Run[]): Curves => ({
  job_id: runs[0]?.job.id ?? JobId.parse('-'),
  keys: [],
  attempts: [],
});
