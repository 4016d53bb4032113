import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import type { WorkerId } from '../../../../protocol/ids.ts';
import { timelineApi } from '../../../../protocol/timeline-api.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { type FleetTranslator, useFleetTexts } from '../../../app/fleet-texts.ts';
import { JobLink } from '../../../app/links.tsx';
import { useEventReads } from '../../../app/use-event-reads.ts';
import { useNow } from '../../../ui/time.tsx';
import { clock, duration } from '../../jobs/figures.ts';
import { type Availability, availabilityOf, type Outlook } from './availability.ts';
import './free.css';

const OutlookContext = createContext<Outlook | null>(null);

/** To answer, the server simulates the dispatch of many jobs, so the minimum interval is long. */
const readDelayMs = 15_000;
/** Predicted starts later than this are not shown. */
const aheadMs = 14 * 86_400_000;

interface OutlookProps {
  /** Only the predictions for this worker. */
  readonly workerId?: WorkerId;
  readonly children: ReactNode;
}

/** Provides the predictions for the cards below. Reads them again after events, and every minute. */
export function OutlookProvider({ workerId, children }: OutlookProps) {
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
        ...(workerId !== undefined && { worker_id: workerId }),
      };
      const answer = await client.call(timelineApi.read, { query, signal });
      if (answer.ok && !signal.aborted) setOutlook(answer.value);
    },
    [client, isAllowed, workerId],
  );
  useEventReads(read, readDelayMs, useNow(60_000));
  return <OutlookContext value={outlook}>{children}</OutlookContext>;
}

/** Says when the worker is free, and which job comes next. Renders nothing for an offline worker. */
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
      <span>{freeText(t, availability, id !== null, now)}</span>
      {availability.next !== null && <Next {...availability.next} />}
    </p>
  );
}

function freeText(
  t: FleetTranslator,
  { kind, endsAt, next }: Availability,
  hasJob: boolean,
  now: number,
): string {
  if (!hasJob) return kind === 'free' ? t('free.now') : t('fleet.noJob');
  if (endsAt === null) return t('free.unknown');
  const time = duration((endsAt - now) / 1_000, t.language);
  // A worker with another job to come is not free when its current one ends.
  const key = kind === 'busy' && next === null ? 'free.in' : 'free.ends';
  return t(key, { time, clock: clock(new Date(endsAt).toISOString(), t) });
}

function Next({ id, name }: { readonly id: string; readonly name: string }) {
  const t = useFleetTexts();
  return (
    <span className="rig-next">
      {t('free.next')}{' '}
      <JobLink id={id} title={name}>
        {name}
      </JobLink>
    </span>
  );
}
