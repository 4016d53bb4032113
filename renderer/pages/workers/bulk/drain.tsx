import { useState } from 'react';
import { workersApi } from '../../../../protocol/admin-api.ts';
import { shownName } from '../../../../protocol/job-about.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { DrainFields, drainBody, noDrainWish } from '../dialogs/drain-fields.tsx';
import { Effects } from './effects.tsx';
import type { BulkQuestionProps } from './question.ts';

export function BulkDrain({ workers, onConfirm, onClose }: BulkQuestionProps) {
  const t = useFleetTexts();
  const { client } = usePanel();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const [wish, setWish] = useState(noDrainWish);
  const effectOn = ({ drain, status, current_job_id: id }: WorkerView): string => {
    if (drain !== null) return t('bulk.drain.again');
    if (id !== null) {
      const job = jobs.get(id);
      return t('bulk.drain.job', { job: job === undefined ? id : shownName(job) });
    }
    return t(status === 'offline' ? 'bulk.drain.offline' : 'bulk.drain.idle');
  };
  const drain = (): void =>
    onConfirm(workers, async ({ id }) => {
      const answer = await client.call(workersApi.drain, { params: { id }, body: drainBody(wish) });
      return answer.ok ? null : answer.failure;
    });
  const values = { count: workers.length, name: workers[0]?.name ?? '' };
  return (
    <Confirm
      title={t('workers.drain.title', values)}
      consequence={t('workers.drain.consequence', values)}
      act={t('workers.drain.act')}
      onConfirm={drain}
      onClose={onClose}
    >
      <Effects workers={workers} effectOn={effectOn} />
      <DrainFields wish={wish} onChange={setWish} />
    </Confirm>
  );
}

export function BulkUndrain({ workers, onConfirm, onClose }: BulkQuestionProps) {
  const t = useFleetTexts();
  const { client } = usePanel();
  const drained = workers.filter(({ drain }) => drain !== null);
  const undrain = (): void =>
    onConfirm(drained, async ({ id }) => {
      const answer = await client.call(workersApi.undrain, { params: { id } });
      return answer.ok ? null : answer.failure;
    });
  return (
    <Confirm
      title={t(drained.length < workers.length ? 'bulk.undrain.some' : 'bulk.undrain.title', {
        count: drained.length,
        selected: workers.length,
      })}
      consequence={t('bulk.undrain.consequence')}
      kind="primary"
      act={t('workers.act.undrain')}
      onConfirm={undrain}
      onClose={onClose}
    >
      <Effects
        workers={workers}
        effectOn={({ drain, status }) => {
          if (drain === null) return t('bulk.undrain.none');
          return t(status === 'offline' ? 'bulk.undrain.offline' : 'bulk.undrain.takes');
        }}
      />
    </Confirm>
  );
}
