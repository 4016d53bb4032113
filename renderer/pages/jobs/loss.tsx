import { type ReactNode, useEffect, useMemo } from 'react';
import { isFinal, type JobView } from '../../../protocol/job.ts';
import { metricsApi } from '../../../protocol/metrics-api.ts';
import { useFleet, useMay, usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { compareLosses, allPoints, scaleLosses } from '../../state/sparklines.ts';
import { Sparkline } from '../../ui/indicators.tsx';
import { figure } from './figures.ts';

interface LossProps {
  readonly job: JobView;
  /** Replaces the latest loss above the sparkline. */
  readonly instead?: ReactNode;
}

/**
 * The latest loss of a running job, with its sparkline. The component subscribes to the store itself, so that a new
 * loss re-renders only this cell.
 */
export function Loss({ job, instead }: LossProps) {
  const { id, attempt, status, progress } = job;
  const t = useT();
  const may = useMay();
  const { earlierLosses } = usePanel();
  const series = useFleet(({ losses }) => losses.get(id));
  const points = useMemo(() => (series === undefined ? [] : allPoints(series)), [series]);
  const isWanted = progress?.loss !== undefined && !isFinal(status) && may(metricsApi.read, job);
  useEffect(
    () => (isWanted ? earlierLosses.register(id, attempt) : undefined),
    [earlierLosses, isWanted, id, attempt],
  );
  const [first] = points;
  const last = points.at(-1);
  if (progress?.loss === undefined) return instead;
  const shown = instead ?? figure(progress.loss, t.language);
  if (first === undefined || last === undefined || first === last) return shown;
  const label = t('jobs.loss.label', {
    first: figure(first.loss, t.language),
    last: figure(last.loss, t.language),
    direction: compareLosses(first.loss, last.loss),
  });
  return (
    <span className="loss" title={label}>
      <span>{shown}</span>
      <Sparkline points={scaleLosses(points)} label={label} spanMs={Number.POSITIVE_INFINITY} minMs={1} />
    </span>
  );
}
