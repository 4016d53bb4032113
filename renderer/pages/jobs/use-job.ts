import { useEffect, useMemo, useState } from 'react';
import { JobId } from '../../../protocol/ids.ts';
import type { JobDetail } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { showFailure } from '../../ui/toast.tsx';

/** Reads the attempts after each event of the job; all other data comes from the stream. */
export function useJob(id: string): { readonly job: JobDetail | null; readonly isGone: boolean } {
  const t = useT();
  const { client } = usePanel();
  const [read, setRead] = useState<JobDetail | null>(null);
  const [isGone, setGone] = useState(false);
  const live = useFleet(({ fleet }) => fleet.jobs.get(JobId.safeParse(id).data ?? noId));
  const happened = useLastEvent(id);
  useEffect(() => {
    const controller = new AbortController();
    const jobId = JobId.safeParse(id);
    if (!jobId.success) return setGone(true);
    void client.call(queueApi.get, { params: { id: jobId.data }, signal: controller.signal }).then(answer => {
      if (controller.signal.aborted) return;
      if (answer.ok) setRead(answer.value);
      else if (answer.failure.kind === 'problem' && answer.failure.problem.code === 'job_not_found')
        setGone(true);
      else showFailure(t, answer.failure);
    });
    return () => controller.abort();
  }, [client, id, happened, t]);
  const job = useMemo(() => read && (live === undefined ? read : { ...read, ...live }), [read, live]);
  return { job, isGone };
}

const noId = JobId.parse('-');

/** The number of the job's last event in memory. It changes with each new event. */
export const useLastEvent = (id: string): number | undefined =>
  useFleet(({ fleet }) => fleet.recent.find(event => event.kind === 'job' && event.job_id === id)?.seq);
