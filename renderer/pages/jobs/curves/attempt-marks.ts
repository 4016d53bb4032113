import { useCallback, useMemo } from 'react';
import type { JobDetail } from '../../../../protocol/job.ts';
import { useT } from '../../../i18n/index.ts';
import { breaksOf, type Curves } from './lines.ts';
import type { View } from './view.ts';

/** Names the attempts, and marks the start of every attempt except the first. */
export function useAttemptMarks(
  { attempts }: JobDetail,
  whole: Curves,
  { axis, attempts: chosen }: Pick<View, 'axis' | 'attempts'>,
) {
  const t = useT();
  const workerOf = useCallback(
    (number: number) => {
      const attempt = attempts.find(each => each.attempt === number);
      return attempt?.worker_name ?? attempt?.worker_id ?? '?';
    },
    [attempts],
  );
  const nameOf = useCallback(
    (attempt: number) => t('curves.attempt', { attempt, worker: workerOf(attempt) }),
    [t, workerOf],
  );
  const marks = useMemo(
    () => breaksOf(whole, axis, chosen).map(({ attempt, x }) => ({ x, text: nameOf(attempt) })),
    [whole, axis, chosen, nameOf],
  );
  return { workerOf, nameOf, marks };
}
