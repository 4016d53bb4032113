import type { JobView } from '../../../protocol/job.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { bestLossOf } from './best.ts';
import { figure } from './figures.ts';

/** The best loss of a job; its title says which loss it is. */
export function BestLoss({ job: { progress } }: { readonly job: JobView }) {
  const t = useT();
  const loss = bestLossOf(progress);
  if (loss === null) return null;
  return <span title={titleOf(progress?.best_loss_key, t)}>{figure(loss, t.language)}</span>;
}

function titleOf(key: string | undefined, t: Translator): string {
  if (key === undefined) return t('jobs.bestLoss.last');
  return t(key === 'loss' ? 'jobs.bestLoss.training' : 'jobs.bestLoss.evaluation');
}
