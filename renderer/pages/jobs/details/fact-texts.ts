import type { AttemptView, JobView } from '../../../../protocol/job.ts';
import type { MessageKey, Translator } from '../../../i18n/index.ts';
import { perLanguage } from '../../../i18n/formats.ts';

const lists = perLanguage(language => new Intl.ListFormat(language, { type: 'unit', style: 'short' }));

/** Names the GPUs of a job by their numbers: "GPU 0", "GPUs 0, 1". Null when the job has none now. */
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

/** Returns the text for an outcome. An outcome that only newer servers report is shown unchanged. */
export function outcomeText(outcome: string, t: Translator): string {
  const key = outcomes[outcome];
  return key === undefined ? outcome : t(key);
}

/** Returns the outcome of an attempt. An active attempt has the state of its job, such as recovering. */
export const attemptText = (
  outcome: AttemptView['outcome'],
  { status }: Pick<JobView, 'status'>,
  t: Translator,
): string => (outcome === null ? t(`state.${status}`) : outcomeText(outcome, t));
