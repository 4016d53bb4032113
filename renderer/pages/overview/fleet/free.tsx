import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import { timelineApi } from '../../../../protocol/timeline-api.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { type FleetTranslator, useFleetTexts } from '../../../app/fleet-texts.ts';
import { JobLink } from '../../../app/links.tsx';
import { useEventReads } from '../../../app/use-event-reads.ts';
import { useNow } from '../../../ui/time.tsx';
import { clock, duration, roundEstimate } from '../../jobs/figures.ts';
import { type Availability, availabilityOf, type Outlook } from './availability.ts';
import './free.css';

const OutlookContext = createContext<Outlook | null>(null);

/** Minimum interval between reads. It is long, because the server simulates the dispatch of many jobs for each answer. */
const readDelayMs = 15_000;
/** Predictions are read for this time span from now. */
const aheadMs = 14 * 86_400_000;

/** Provides the predictions for the cards inside. Reads the predictions again after events, and every minute. */
export function OutlookProvider({ children }: { readonly children: ReactNode }) {
  const { client, may } = usePanel();
  const isAllowed = may(timelineApi.read);
  const [outlook, setOutlook] = useState<Outlook | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (!isAllowed) return;
      const now = Date.now();
      const query = {
        from: new Date(now).toISOString(),
        to: new Date(now + aheadMs).toISOString(),
      };
      const answer = await client.call(timelineApi.read, { query, signal });
      if (answer.ok && !signal.aborted) setOutlook(answer.value);
    },
    [client, isAllowed],
  );
  useEventReads(read, readDelayMs, useNow(60_000));
  return <OutlookContext value={outlook}>{children}</OutlookContext>;
}

/** Shows when the worker will be free, and its next job. Renders nothing for an offline worker. */
export function FreeLine({ worker }: { readonly worker: WorkerView }) {
  const t = useFleetTexts();
  const outlook = useContext(OutlookContext);
  const id = worker.current_job_id;
  const job = useFleet(({ fleet }) => (id === null ? undefined : fleet.jobs.get(id)));
  const now = useNow();
  const availability = availabilityOf(worker, job, outlook, now);
  if (worker.status === 'offline') return null;
  return (
    <p className="rig-free" data-free={availability.kind === 'free'}>
      <span>{freeText(t, availability, job === undefined ? id : shownName(job), now)}</span>
      <Queued {...availability} />
    </p>
  );
}

/** `job` is the name of the current job; null for none. */
function freeText(
  t: FleetTranslator,
  { kind, endsAt }: Availability,
  job: string | null,
  now: number,
): string {
  if (job === null) return kind === 'free' ? t('free.now') : t('fleet.noJob');
  // A worker that accepts no more jobs is not free after its current job.
  const willBeFree = kind === 'busy';
  if (endsAt === null) return t(willBeFree ? 'free.unknown' : 'free.endsUnknown', { job });
  const time = duration(roundEstimate((endsAt - now) / 1_000), t.language);
  return t(willBeFree ? 'free.in' : 'free.ends', { time, clock: clock(new Date(endsAt).toISOString(), t) });
}

function Queued({ next, queued, mayQueueMore }: Pick<Availability, 'next' | 'queued' | 'mayQueueMore'>) {
  const t = useFleetTexts();
  if (next === null) return null;
  return (
    <span className="rig-next">
      {t(mayQueueMore ? 'free.queuedAtLeast' : 'free.queued', { count: queued })}{' '}
      <JobLink id={next.id} title={next.name}>
        {next.name}
      </JobLink>
    </span>
  );
}
