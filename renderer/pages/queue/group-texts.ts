import type { WaitGroup } from '../../../protocol/wait-groups.ts';
import { perLanguage } from '../../i18n/formats.ts';
import { duration } from '../jobs/figures.ts';
import { needsText } from '../jobs/needs-text.ts';
import type { QueueTranslator } from './texts.ts';

const lists = perLanguage(language => new Intl.ListFormat(language, { type: 'unit', style: 'short' }));

/** Names a group by its number of jobs and their requirements: "12 jobs wait for rtx4090". */
export function groupTitle({ count, needs }: WaitGroup, t: QueueTranslator): string {
  const list = needs === null ? '' : needsText(needs, t);
  return list === '' ? t('queue.group.any', { count }) : t('queue.group.for', { count, needs: list });
}

const minute = 60;

/** Rounds estimates of two minutes or more to minutes, because they are not exact to the second. */
const roughly = (seconds: number): number =>
  seconds < 2 * minute ? seconds : Math.round(seconds / minute) * minute;

/**
 * States that all matching workers are busy, and when one becomes free. Null if some are unavailable for other reasons.
 * `worker`: the name of the only matching worker.
 */
export function freeText(
  { wait, workers, next_free_s: nextFree }: WaitGroup,
  worker: string | undefined,
  t: QueueTranslator,
): string | null {
  const isBusy =
    wait.code === 'busy' && wait.workers.every(({ code }) => code === 'busy' || code === 'settling');
  if (!isBusy || workers === null || workers === 0) return null;
  const busy =
    worker === undefined
      ? t('queue.group.allBusy', { count: workers })
      : t('queue.group.oneBusy', { worker });
  if (nextFree === null || nextFree === 0) return busy;
  const free = t('queue.group.nextFree', { time: duration(roughly(nextFree), t.language) });
  return lists(t.language).format([busy, free]);
}
