import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { urlOf } from '../../../../protocol/client.ts';
import { isFinal, isWaiting, type JobDetail } from '../../../../protocol/job.ts';
import { metricsApi } from '../../../../protocol/metrics-api.ts';
import { detailOf } from '../../../api/session.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { type VisibleCurves, useCurves, useCompared } from './curve-reads.ts';
import { Chart } from './chart.tsx';
import { Controls } from './controls.tsx';
import './curves.css';
import { chartsOf } from './keys.ts';
import { Comparison } from './comparison.tsx';
import { useAttemptMarks } from './attempt-marks.ts';
import { type AxisRange, coveringRange, spanOf, wholeRange, widened } from './lines.ts';
import { usePalette } from './palette.ts';
import { useWidth } from './use-width.ts';
import { type View, parseView, withView } from './view.ts';

interface JobProps {
  readonly job: JobDetail;
}

/** Shows charts of a job's training metrics and of its GPUs. */
export function JobCurves({ job }: JobProps) {
  const t = useT();
  const [params, setParams] = useSearchParams();
  const view = useMemo(() => parseView(params, job.id), [params, job.id]);
  const change = useCallback(
    (next: Partial<View>) => setParams(before => withView(before, next), { replace: true }),
    [setParams],
  );
  const { grid, width } = useWidth();
  const { seen, failure, reload } = useCurves(job, view, width);
  const isEmpty = seen?.whole.attempts.length === 0;
  return (
    <div ref={grid} className="curves" aria-busy={seen === null && failure === null}>
      {failure !== null && (
        <Empty why={t('curves.failed', { why: detailOf(failure) ?? t('error.unreachable') })}>
          <Button onClick={reload}>{t('curves.again')}</Button>
        </Empty>
      )}
      {isEmpty && <Empty why={t(`curves.none.${reasonOf(job)}`)} />}
      {seen !== null && !isEmpty && (
        <Charts job={job} seen={seen} view={view} width={width} onChange={change} />
      )}
    </div>
  );
}

/** Returns the suffix of the text key that explains why there are no curves. */
function reasonOf({ status }: JobDetail) {
  if (isFinal(status)) return 'ended';
  return isWaiting(status) ? 'waits' : 'runs';
}

interface ChartsProps extends JobProps {
  readonly seen: VisibleCurves;
  readonly view: View;
  readonly width: number;
  readonly onChange: (change: Partial<View>) => void;
}

function Charts({ job, seen: { whole, shown }, view, width, onChange }: ChartsProps) {
  const palette = usePalette();
  const { axis, attempts: chosen, zoom } = view;
  const plans = useMemo(() => chartsOf(whole.keys.map(({ key }) => key)), [whole.keys]);
  const { workerOf, nameOf, marks } = useAttemptMarks(job, whole, view);
  const compared = useCompared(view, shown, width);
  const all = useMemo(
    () =>
      coveringRange([spanOf(whole, axis, chosen), ...compared.map(each => spanOf(each.curves, axis, null))]),
    [whole, axis, chosen, compared],
  );
  const range = useMemo(() => zoom ?? widened(all ?? [0, 1]), [zoom, all]);
  const attempts = useMemo(() => whole.attempts.map(({ attempt }) => attempt), [whole.attempts]);
  const names = { workerOf, attempts: attempts.filter(each => chosen?.has(each) !== false).length };
  const zoomTo = useCallback((selected: AxisRange) => onChange({ zoom: wholeRange(selected) }), [onChange]);
  return (
    <>
      <Controls view={view} attempts={attempts} nameOf={nameOf} range={all ?? [0, 1]} onChange={onChange} />
      <Comparison job={job} others={view.others} compared={compared} onChange={onChange} />
      <Notes job={job} />
      {(['trainer', 'gpu'] as const).map(kind => (
        <div key={kind} className="curve-grid">
          {plans
            .filter(plan => plan.kind === kind)
            .map(plan => (
              <Chart
                key={plan.id}
                curves={shown}
                compared={compared}
                onZoom={zoomTo}
                {...{ plan, view, range, marks, names, palette, width }}
              />
            ))}
        </div>
      ))}
    </>
  );
}

/** Explains why a v1 worker reports only few points, and links to the download of all points. */
function Notes({ job }: JobProps) {
  const t = useT();
  const { baseUrl } = usePanel();
  const isOld = useFleet(({ fleet }) =>
    job.attempts.some(({ worker_id: id }) => fleet.workers.get(id)?.protocol === 1),
  );
  return (
    <div className="curve-notes">
      {isOld && <p className="muted">{t('curves.fewPoints')}</p>}
      <a
        className="button button-plain"
        href={urlOf(baseUrl, metricsApi.download.path, { id: job.id }).href}
        download
      >
        {t('curves.csv')}
      </a>
    </div>
  );
}
