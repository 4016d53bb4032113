import type { JobView } from '../../../protocol/job.ts';
import { useT } from '../../i18n/index.ts';
import { bestLossOf } from './best.ts';
import { figure } from './figures.ts';

interface BestLossProps {
  readonly job: JobView;
  /** True to name the kind of loss, because the best loss is a mean, which can be higher than the last loss. */
  readonly showsKind?: boolean;
}

/** The best loss of a job. Its tooltip explains which kind of loss the figure is. */
export function BestLoss({ job: { progress }, showsKind = false }: BestLossProps) {
  const t = useT();
  const loss = bestLossOf(progress);
  if (loss === null) return null;
  const kind = kindOf(progress?.best_loss_key);
  return (
    <span title={t(`jobs.bestLoss.${kind}`)}>
      {figure(loss, t.language)}
      {showsKind && <span className="muted"> {t(`jobs.bestLoss.short.${kind}`)}</span>}
    </span>
  );
}

function kindOf(key: string | undefined) {
  if (key === undefined) return 'last';
  return key === 'loss' ? 'training' : 'evaluation';
}
