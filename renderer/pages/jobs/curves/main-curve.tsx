import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { isFinal, isWaiting, type JobDetail } from '../../../../protocol/job.ts';
import { detailOf } from '../../../api/session.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { useAttemptMarks } from './attempt-marks.ts';
import { Chart } from './chart.tsx';
import { useCurves } from './curve-reads.ts';
import './curves.css';
import { chartsOf } from './keys.ts';
import { type AxisRange, type Curves, spanOf, wholeRange, widened } from './lines.ts';
import { usePalette } from './palette.ts';
import { parseView, withView } from './view.ts';

interface JobProps {
  readonly job: JobDetail;
}

const wholeView = parseView(new URLSearchParams());

/** A chart of the loss, or of the first metric if there is no loss. Renders nothing for a job that ended without metrics. */
export function MainCurve({ job }: JobProps) {
  const t = useT();
  const { host, width } = useWidth();
  const { seen, failure, reload } = useCurves(job, wholeView, width);
  const isEmpty = seen?.whole.attempts.length === 0;
  if (isEmpty && isFinal(job.status)) return null;
  return (
    <div ref={host} className="glance-curve" aria-busy={seen === null && failure === null}>
      {/* A failed update keeps the chart, because the badge of the page shows that the connection is lost. */}
      {failure !== null && seen === null && (
        <section className="card">
          <p>{t('curves.failed', { why: detailOf(failure) ?? t('error.unreachable') })}</p>
          <div>
            <Button onClick={reload}>{t('curves.again')}</Button>
          </div>
        </section>
      )}
      {isEmpty && (
        <section className="card" aria-labelledby="job-no-loss">
          <h2 id="job-no-loss">{t('curves.key.loss')}</h2>
          <p className="muted">{t(isWaiting(job.status) ? 'curves.none.waits' : 'curves.none.runs')}</p>
        </section>
      )}
      {seen !== null && !isEmpty && <MainChart job={job} whole={seen.whole} width={width} />}
    </div>
  );
}

interface MainChartProps extends JobProps {
  readonly whole: Curves;
  readonly width: number;
}

function MainChart({ job, whole, width }: MainChartProps) {
  const t = useT();
  const [, setParams] = useSearchParams();
  const palette = usePalette();
  const plan = useMemo(() => chartsOf(whole.keys.map(({ key }) => key)).at(0), [whole.keys]);
  const { workerOf, marks } = useAttemptMarks(job, whole, wholeView);
  const range = useMemo(() => widened(spanOf(whole, wholeView.axis, null) ?? [0, 1]), [whole]);
  /** Opens the selected range in the metrics tab, which shows it in detail. */
  const zoomTo = useCallback(
    (selected: AxisRange) =>
      setParams(withView(new URLSearchParams({ tab: 'metrics' }), { zoom: wholeRange(selected) })),
    [setParams],
  );
  if (plan === undefined) return null;
  return (
    <Chart
      curves={whole}
      compared={noComparison}
      view={wholeView}
      names={{ workerOf, attempts: whole.attempts.length }}
      onZoom={zoomTo}
      {...{ plan, range, marks, palette, width }}
    >
      <Link className="glance-more" href={`/jobs/${job.id}?tab=metrics`}>
        {t('jobs.glance.metrics')}
      </Link>
    </Chart>
  );
}

const noComparison = [] as const;

/** Padding and border of a chart in its card, in pixels. Keep in sync with the stylesheet. */
const padding = 34;

/** Measures the width of the chart in pixels. Returns a width of 0 until the first measurement. */
function useWidth() {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const measure = (): void => setWidth(Math.max(160, Math.floor(element.clientWidth) - padding));
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    measure();
    return () => watch.disconnect();
  }, []);
  return { host, width };
}
