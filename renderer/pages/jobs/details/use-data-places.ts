import { useMemo } from 'react';
import { type DatasetView, datasetsApi } from '../../../../protocol/datasets-api.ts';
import type { JobDataView, JobDetail } from '../../../../protocol/job.ts';
import { isWaiting } from '../../../../protocol/job.ts';
import { useLoaded } from '../../../app/context.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { placesText } from '../../data/rigs.ts';
import { sizeText } from '../figures.ts';

/**
 * Returns a function that describes where a version of the job's data is stored. For a pending job, the text names the
 * rigs that have the version. Otherwise, the text states whether the job's rig has the version. The function returns
 * null while the rigs are unknown.
 */
export function useDataPlaces(job: JobDetail): (data: JobDataView) => string | null {
  const t = useT();
  const { status, worker_id: workerId, worker_name: name, worker_deleted: isDeleted } = job;
  const rig = isWaiting(status) || workerId === null || isDeleted ? null : workerId;
  const query = useMemo(
    () => ({ query: { all: 'true', ...(rig !== null && { worker_id: rig }) } as const }),
    [rig],
  );
  const { value } = useLoaded(datasetsApi.list, query, `${status} ${rig}`);
  return data => {
    if (value === null) return null;
    const stored = value.datasets.find(({ version }) => version === data.version);
    if (rig === null) return stored === undefined ? null : placesText(stored, t);
    return onRigText({ job, worker: name ?? rig, stored, data }, t);
  };
}

interface OnRig {
  readonly job: JobDetail;
  readonly worker: string;
  /** Undefined if the rig does not have the version. */
  readonly stored: DatasetView | undefined;
  readonly data: JobDataView;
}

function onRigText({ job: { completed_at: endedAt }, worker, stored, data }: OnRig, t: Translator): string {
  if (stored !== undefined) return t('jobs.data.onRig', { worker });
  if (endedAt !== null) return t('jobs.data.notOnRig', { worker });
  return t('jobs.data.downloads', { worker, size: sizeText(data.bytes, t.language) });
}
