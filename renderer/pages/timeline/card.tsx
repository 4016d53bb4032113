import { useMemo } from 'react';
import { isFinal, type JobView } from '../../../protocol/job.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { RowWorker } from './layout.ts';
import { Timeline } from './rows.tsx';
import { zooms } from './scale.ts';
import { TimelineTexts, useTimelineT } from './texts.tsx';
import { useView } from './use-view.ts';

/** The timeline of one worker: its attempts of the last day, and its predicted jobs. */
export const WorkerTimeline = ({ worker }: { readonly worker: WorkerView }) => (
  <TimelineTexts>
    <OfWorker worker={worker} />
  </TimelineTexts>
);

function OfWorker({ worker: { id, name } }: { readonly worker: WorkerView }) {
  const t = useTimelineT();
  const workers = useMemo((): readonly RowWorker[] => [{ id, name, isDeleted: false }], [id, name]);
  const filter = useMemo(() => ({ worker_id: id }), [id]);
  const view = useView(zooms.day);
  return (
    <section className="card" aria-labelledby="worker-timeline">
      <h2 id="worker-timeline">{t('nav.timeline')}</h2>
      <Timeline {...{ workers, filter, view }} />
    </section>
  );
}

/** The timeline of one job: its attempts, its moves between workers, and the predicted next attempt. */
export const JobTimeline = ({ job }: { readonly job: JobView }) => (
  <TimelineTexts>
    <OfJob key={job.id} job={job} />
  </TimelineTexts>
);

const noWorkers: readonly RowWorker[] = [];

function OfJob({ job }: { readonly job: JobView }) {
  const t = useTimelineT();
  const filter = useMemo(() => ({ job_id: job.id }), [job.id]);
  const view = useView(...rangeOf(job, Date.now()));
  return (
    <section className="card" aria-labelledby="job-timeline">
      <h2 id="job-timeline">{t('nav.timeline')}</h2>
      <Timeline workers={noWorkers} {...{ filter, view }} />
    </section>
  );
}

/** Share of the visible range that the job fills, from its submission to its end. */
const lifeShare = 3 / 4;

/** Returns a range that shows the whole job, within the limits of the zoom levels. Moves with the time until the job ends. */
function rangeOf(job: JobView, now: number): Parameters<typeof useView> {
  const from = Date.parse(job.queued_at);
  const to = job.completed_at === null || !isFinal(job.status) ? now : Date.parse(job.completed_at);
  const spanMs = Math.min(zooms.month, Math.max(zooms.hour, (to - from) / lifeShare));
  if (!isFinal(job.status)) return [spanMs];
  const margin = (spanMs - (to - from)) / 2;
  // Count from the end, because the longest range, a month, may be shorter than the job.
  return [spanMs, { from: to + margin - spanMs, to: to + margin }];
}
