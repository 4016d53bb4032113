import { useCallback, useState } from 'react';
import { useLocation } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useT } from '../../i18n/index.ts';
import { jobActions, useJobActions } from '../../pages/jobs/job-actions.tsx';
import { useStartAction } from '../../pages/workers/actions.ts';
import { useRevert } from '../../pages/workers/worker-menu.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { useMay, usePanel } from '../context.ts';
import { useEventReads } from '../use-event-reads.ts';
import type { ActionEntry } from './entries.ts';

const themes = ['system', 'light', 'dark'] as const;
/** Pause between an event and the next read of the queue's status. */
const readDelayMs = 300;

/** Returns whether the queue is paused; null until the answer arrives, and for users who may not pause the queue. */
function useIsPaused(): boolean | null {
  const { client } = usePanel();
  const may = useMay();
  const isAllowed = may(queueApi.pause) && may(queueApi.status);
  const [isPaused, setPaused] = useState<boolean | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (!isAllowed) return;
      const answer = await client.call(queueApi.status, { signal });
      if (answer.ok && !signal.aborted) setPaused(answer.value.paused !== null);
    },
    [client, isAllowed],
  );
  // The queue may be paused or resumed while the palette is open.
  useEventReads(read, readDelayMs);
  return isPaused;
}

/** Actions on no particular job or worker that the user may perform. `onPause` opens the dialog that pauses the queue. */
export function useGeneralActions(onPause: () => void): readonly ActionEntry[] {
  const t = useT();
  const may = useMay();
  const [, go] = useLocation();
  const { client, preferences } = usePanel();
  const start = useStartAction();
  const isPaused = useIsPaused();
  const entry = (id: string, text: string, onSelect: () => void): ActionEntry => ({
    id,
    text,
    action: text,
    onSelect,
  });
  const resume = (): void => {
    void client.call(queueApi.resume).then(answer => !answer.ok && showFailure(t, answer.failure));
  };
  const entries: ActionEntry[] = [];
  if (may(queueApi.submit)) entries.push(entry('submit', t('jobs.submit.title'), () => go('/jobs/new')));
  if (may(workersApi.create)) entries.push(entry('join', t('workers.join'), () => start({ kind: 'join' })));
  if (isPaused === false) entries.push(entry('pause', t('queue.pause'), onPause));
  if (isPaused === true) entries.push(entry('resume', t('palette.resume'), resume));
  for (const theme of themes) {
    const text = t('palette.on', { action: t('settings.theme'), name: t(`settings.theme.${theme}`) });
    entries.push(entry(`theme-${theme}`, text, () => preferences.setState({ theme })));
  }
  return entries;
}

/** Actions on these jobs and workers that are possible now and that the user may perform. */
export function useObjectActions(
  jobs: readonly JobView[],
  workers: readonly WorkerView[],
): readonly ActionEntry[] {
  const t = useT();
  const may = useMay();
  const { menuOf } = useJobActions();
  const start = useStartAction();
  const revert = useRevert();
  const onJobs = jobs.flatMap(job =>
    menuOf(job)
      .filter(({ reason }) => (reason ?? null) === null)
      .map(({ id, text: action, onSelect }) => ({
        id: `${id} ${job.id}`,
        text: t('palette.on', { action, name: shownName(job) }),
        action,
        onSelect,
      })),
  );
  const onWorkers = workers.flatMap(worker => {
    const act = worker.drain === null ? 'drain' : 'undrain';
    if (!may(workersApi[act])) return [];
    const action = t(`workers.act.${act}`).replace(/…$/, '');
    const onSelect = (): void =>
      act === 'drain' ? start({ kind: 'drain', worker }) : revert('undrain', worker);
    return [
      { id: `${act} ${worker.id}`, text: t('palette.on', { action, name: worker.name }), action, onSelect },
    ];
  });
  return [...onJobs, ...onWorkers];
}

/** Returns the names of all actions on jobs and workers. Other words of a query may name a job or a worker. */
export function useActionNames(): readonly string[] {
  const t = useT();
  return [...jobActions.map(act => t(`jobs.act.${act}`)), t('workers.act.drain'), t('workers.act.undrain')];
}
