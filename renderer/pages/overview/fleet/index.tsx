import { useMemo } from 'react';
import { Link } from 'wouter';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useT } from '../../../i18n/index.ts';
import { RunningJobs } from '../running.tsx';
import { RigCard } from './card.tsx';
import { cardWorkers, mappedWorkers } from './gpu-cells.ts';
import { FleetMap } from './map.tsx';
import './fleet.css';

interface FleetPictureProps {
  readonly workers: ReadonlyMap<WorkerId, WorkerView>;
  readonly running: readonly JobView[];
}

/** The fleet at a glance: the map of all GPUs, and a card for each worker up to a limit. */
export function FleetPicture({ workers, running }: FleetPictureProps) {
  const t = useT();
  const sorted = useMemo(() => mappedWorkers(workers.values(), t.language), [workers, t.language]);
  const shown = useMemo(() => cardWorkers(sorted), [sorted]);
  const others = useMemo(() => {
    const onCards = new Set(shown.map(({ current_job_id: id }) => id));
    return running.filter(({ id }) => !onCards.has(id));
  }, [running, shown]);
  return (
    <>
      <FleetMap workers={sorted} />
      <section className="rig-section" aria-labelledby="fleet-cards">
        <h2 id="fleet-cards">{t('fleet.cards')}</h2>
        <ul className="rig-cards">
          {shown.map(worker => (
            <RigCard key={worker.id} worker={worker} />
          ))}
        </ul>
        {sorted.length > shown.length && (
          <Link href="/workers">{t('fleet.all', { count: sorted.length })}</Link>
        )}
      </section>
      {others.length > 0 && <RunningJobs jobs={others} title="fleet.others" />}
    </>
  );
}
