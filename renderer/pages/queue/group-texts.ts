import type { WaitGroup } from '../../../protocol/wait-groups.ts';
import { duration } from '../jobs/figures.ts';
import { lists, needsText } from '../jobs/needs-text.ts';
import type { QueueTranslator } from './texts.ts';

/**
 * Names a group by its number of jobs and their requirements: "12 jobs wait for rtx4090". `job`: the name of the only job of
 * the group, which replaces the number.
 */
export function groupTitle({ count, needs }: WaitGroup, job: string | undefined, t: QueueTranslator): string {
  const list = needs === null ? '' : needsText(needs, t);
  if (job !== undefined)
    return list === '' ? t('queue.group.oneAny', { job }) : t('queue.group.oneFor', { job, needs: list });
  return list === '' ? t('queue.group.any', { count }) : t('queue.group.for', { count, needs: list });
}

const minute = 60;

/** Rounds estimates of two minutes or more to minutes, because they are not exact to the second. */
const roughly = (seconds: number): number =>
  seconds < 2 * minute ? seconds : Math.round(seconds / minute) * minute;

/**
 * States that all matching workers are busy, and when one becomes free. Returns null if some of them are unavailable for
 * other reasons. `worker` is the name of the only matching worker; undefined if there are several.
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
