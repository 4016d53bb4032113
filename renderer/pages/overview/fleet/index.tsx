import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { FleetTexts } from '../../../app/fleet-texts.ts';
import { useT } from '../../../i18n/index.ts';
import { RunningJobs } from '../running.tsx';
import { UsageCard } from '../usage/index.tsx';
import { RigCard } from './card.tsx';
import { OutlookProvider } from './free.tsx';
import { cardWorkers } from './gpu-cells.ts';
import { useMappedWorkers } from './use-cells.ts';
import { FleetMap } from './map.tsx';
import './fleet.css';

interface FleetPictureProps {
  readonly workers: ReadonlyMap<WorkerId, WorkerView>;
  readonly running: readonly JobView[];
  /** The card with the causes of failures, which is shown next to the usage card. */
  readonly causes: ReactNode;
}

/** Shows the fleet: the map of all GPUs, usage, failure causes, cards for some workers, and other running jobs. */
export function FleetPicture({ workers, running, causes }: FleetPictureProps) {
  const t = useT();
  const all = useMemo(() => [...workers.values()], [workers]);
  const sorted = useMappedWorkers(all, t.language);
  const shown = useMemo(() => cardWorkers(sorted), [sorted]);
  const others = useMemo(() => {
    const onCards = new Set(shown.map(({ current_job_id: id }) => id));
    return running.filter(({ id }) => !onCards.has(id));
  }, [running, shown]);
  return (
    <FleetTexts>
      <FleetMap workers={sorted} />
      <div className="overview-pair">
        {causes}
        <UsageCard />
      </div>
      <section className="rig-section" aria-labelledby="fleet-cards">
        <h2 id="fleet-cards">{t('fleet.cards')}</h2>
        <OutlookProvider>
          <ul className="rig-cards">
            {shown.map(worker => (
              <RigCard key={worker.id} worker={worker} />
            ))}
          </ul>
        </OutlookProvider>
        {sorted.length > shown.length && (
          <Link href="/workers">{t('fleet.all', { count: sorted.length })}</Link>
        )}
      </section>
      {others.length > 0 && <RunningJobs jobs={others} title="fleet.others" />}
    </FleetTexts>
  );
}
