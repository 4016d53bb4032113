import { isFinal, type JobDetail } from '../../../../protocol/job.ts';
import { useFleet } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';

/** Explains why this attempt, or the newest one, has no log. */
export function useWhyEmpty({ attempts, status }: JobDetail, wanted: number | undefined): string {
  const t = useT();
  const attempt = attempts.find(each => each.attempt === wanted) ?? attempts.at(-1);
  const worker = useFleet(({ fleet }) => attempt && fleet.workers.get(attempt.worker_id));
  if (attempt === undefined) return t(isFinal(status) ? 'logs.empty.neverStarted' : 'logs.empty.notStarted');
  if (worker?.protocol === 1) return t('logs.empty.foreign', { worker: worker.name });
  if (attempt.outcome === null) return t('logs.empty.silent');
  return t('logs.empty.gone');
}
