import type { JobView } from '../../../protocol/job.ts';
import { useFleet } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { directionOf, scaled } from '../../state/losses.ts';
import { Sparkline } from '../../ui/sparkline.tsx';
import { figure } from './figures.ts';

interface LossProps {
  readonly job: JobView;
}

/** The last loss of an attempt, and how it came there. Rendered again when it becomes another one, and nothing else of its row. */
export function Loss({ job: { id, progress } }: LossProps) {
  const t = useT();
  const points = useFleet(({ losses }) => losses.get(id))?.points ?? [];
  const [first] = points;
  const last = points.at(-1);
  if (progress?.loss === undefined) return null;
  if (first === undefined || last === undefined || first === last) return figure(progress.loss, t.language);
  const label = t('jobs.loss.label', {
    first: figure(first.loss, t.language),
    last: figure(last.loss, t.language),
    direction: directionOf(first.loss, last.loss),
  });
  return (
    <span className="loss" title={label}>
      <span>{figure(progress.loss, t.language)}</span>
      <Sparkline points={scaled(points)} label={label} spanMs={Number.POSITIVE_INFINITY} leastMs={1} />
    </span>
  );
}
