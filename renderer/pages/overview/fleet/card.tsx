import { memo } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobView } from '../../../../protocol/job.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet } from '../../../app/context.ts';
import { JobLink, WorkerLink } from '../../../app/links.tsx';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Progress, State } from '../../../ui/indicators.tsx';
import { progressText } from '../../jobs/figures.ts';
import { Loss } from '../../jobs/loss.tsx';
import { shownState } from '../../workers/facts.ts';
import { gpusText, reasonText, troubleTexts } from '../../workers/texts.ts';
import { FreeLine } from './free.tsx';
import { GpuTable } from './gpu-table.tsx';
import { NewestSample } from './newest-sample.tsx';

/** A card for a worker: its job, and the readings of its GPUs as bars. */
export const RigCard = memo(function RigCard({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const reason = reasonText(t, worker);
  return (
    <li className="card rig-card">
      <div className="rig-head">
        <h3>
          <WorkerLink id={worker.id}>{worker.name}</WorkerLink>
        </h3>
        <State name={shownState(worker)} />
        <span className="muted">{gpusText(t, worker)}</span>
      </div>
      {worker.status !== 'offline' &&
        troubleTexts(t, worker).map(text => (
          <p key={text} className="trouble">
            {text}
          </p>
        ))}
      {reason !== null && worker.gpu_troubles.length === 0 && <p className="muted">{reason}</p>}
      <CurrentJob worker={worker} />
      <FreeLine worker={worker} />
      <GpuTable worker={worker} />
    </li>
  );
});

function CurrentJob({ worker: { current_job_id: id } }: { readonly worker: WorkerView }) {
  const job = useFleet(({ fleet }) => (id === null ? undefined : fleet.jobs.get(id)));
  return job === undefined ? null : <RunningJob job={job} />;
}

function RunningJob({ job }: { readonly job: JobView }) {
  const t = useT();
  return (
    <div className="rig-job">
      <div className="rig-job-facts">
        <JobLink id={job.id} title={shownName(job)}>
          {shownName(job)}
        </JobLink>
        <Progress
          percent={job.progress?.percent ?? null}
          label={t('jobs.progress.label', { config: shownName(job) })}
          text={percentText(job, t)}
        />
        <span className="muted rig-job-pace">
          <Loss job={job} />
        </span>
      </div>
      <NewestSample job={job} />
    </div>
  );
}

function percentText(job: JobView, t: Translator): string {
  const percent = job.progress?.percent;
  if (percent !== undefined) return t('workers.percent', { value: Math.floor(percent) });
  return progressText(job.progress, t) || t(`state.${job.status}`);
}
