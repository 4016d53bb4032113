import type { JobId } from '../../../../protocol/ids.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { asWorker, isLive } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { bestLoss, bestLossKey } from '../../rules/best-loss.ts';

/** Computes the best loss of a job from its curves. Stores it with the job, so that lists of jobs read no curves. */
export function noteBestLoss(core: Core, tx: Tx, id: JobId): void {
  const job = tx.job(id);
  const key = bestLossKey(tx.metricKeys(id));
  if (job === null || job.attempt === null || key === null) return;
  const curves = tx.attempts(id).map(attempt => tx.series(attempt.id, key));
  const loss = bestLoss(key, curves);
  if (loss === null || (loss === job.progress?.best_loss && key === job.progress.best_loss_key)) return;
  const progress = { ...job.progress, best_loss: loss, best_loss_key: key };
  tx.setProgress(id, progress);
  // The panel gets the value of a live job with the next progress event.
  if (!isLive(job))
    recordJobEvent(core, tx, 'job.best_loss', { ...job, progress }, asWorker(job.attempt.workerId));
}
