import { useMemo } from 'react';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet } from '../../../app/context.ts';
import { type AllocatedGpus, type GpuCell, gpuCells } from './gpu-cells.ts';

/** Returns the GPUs of a worker. Progress of its job does not change them. */
export function useCells(worker: WorkerView): readonly GpuCell[] {
  const id = worker.current_job_id;
  const allocated = useFleet(({ fleet }) =>
    id === null ? '' : (fleet.jobs.get(id)?.allocated_gpus?.join() ?? ''),
  );
  return useMemo(() => gpuCells(worker, toNumbers(allocated)), [worker, allocated]);
}

const toNumbers = (text: string): AllocatedGpus => (text === '' ? null : text.split(',').map(Number));
