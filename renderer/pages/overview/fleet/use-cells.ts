import { useMemo } from 'react';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet } from '../../../app/context.ts';
import { createArrangement } from '../../../ui/table-order.ts';
import { type AllocatedGpus, type GpuCell, gpuCells, isMapped, mappedWorkers } from './gpu-cells.ts';

/** Returns the GPUs of a worker. The result stays the same object while only the progress of its job changes. */
export function useCells(worker: WorkerView): readonly GpuCell[] {
  const id = worker.current_job_id;
  // Select a text, because a new array with the same numbers would cause another render.
  const allocated = useFleet(({ fleet }) =>
    id === null ? '' : (fleet.jobs.get(id)?.allocated_gpus?.join() ?? ''),
  );
  return useMemo(() => gpuCells(worker, toNumbers(allocated)), [worker, allocated]);
}

const toNumbers = (text: string): AllocatedGpus => (text === '' ? null : text.split(',').map(Number));

const idOf = ({ id }: WorkerView): string => id;

/** Returns the workers that have GPUs, sorted by name. Sorts again only after a worker was added, removed or renamed. */
export function useMappedWorkers(workers: readonly WorkerView[], language: string): readonly WorkerView[] {
  const arrange = useMemo(
    () =>
      createArrangement<WorkerView>({
        idOf,
        arrange: rows => mappedWorkers(rows, language),
        keepsPosition: (now, before) => now.name === before.name && isMapped(now) === isMapped(before),
      }),
    [language],
  );
  return useMemo(() => arrange(workers), [arrange, workers]);
}
