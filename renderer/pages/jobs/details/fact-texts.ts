import type { AttemptView, JobView } from '../../../../protocol/job.ts';
import type { MessageKey, Translator } from '../../../i18n/index.ts';
import { perLanguage } from '../../../i18n/formats.ts';

const lists = perLanguage(language => new Intl.ListFormat(language, { type: 'unit', style: 'short' }));

/** Names the GPUs of a job by their numbers: "GPU 0", "GPUs 0, 1". Returns null while the job has no GPUs. */
export function assignedGpusText({ allocated_gpus: gpus }: JobView, t: Translator): string | null {
  if (gpus === null || gpus.length === 0) return null;
  return t('jobs.fact.gpuNumbers', {
    count: gpus.length,
    list: lists(t.language).format(gpus.map(String)),
  });
}

const outcomes: Readonly<Record<string, MessageKey>> = {
  completed: 'jobs.outcome.completed',
  failed: 'jobs.outcome.failed',
  cancelled: 'jobs.outcome.cancelled',
  requeued: 'jobs.outcome.requeued',
  given_up: 'jobs.outcome.given_up',
  withdrawn: 'jobs.outcome.withdrawn',
};

/** Returns the text for an outcome. Returns an unknown outcome, from a newer server, unchanged. */
export function outcomeText(outcome: string, t: Translator): string {
  const key = outcomes[outcome];
  return key === undefined ? outcome : t(key);
}

/** Returns the text for the outcome of an attempt, or for the status of its job while the attempt is active. */
export const attemptText = (
  outcome: AttemptView['outcome'],
  { status }: Pick<JobView, 'status'>,
  t: Translator,
): string => (outcome === null ? t(`state.${status}`) : outcomeText(outcome, t));
