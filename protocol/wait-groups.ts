import { z } from 'zod';
import { JobId } from './ids.ts';
import { JobWait } from './job-wait.ts';

const Needs = z.object({
  gpu_count: z.number().describe('Minimum number of GPUs of the worker.'),
  num_nodes: z.number().describe('Number of machines that train the job together.'),
  gpu_vram_gb: z.number().describe('Minimum memory per GPU in GB; 0 for any.'),
  accelerator: z.string().nullable().describe('Kind of GPU, such as `cuda`; null for any.'),
  worker_labels: z.record(z.string(), z.string()).describe('Required labels of the worker, as patterns.'),
  target: z.string().describe('Where the job may run: `worker`, `local` or `auto`.'),
});

export const WaitGroup = z
  .object({
    reason: z.string().describe('Why the jobs are pending, in one line.'),
    wait: JobWait,
    count: z.number().describe('Number of jobs in the group.'),
    job_ids: z.array(JobId).describe('The jobs in dispatch order.'),
    needs: Needs.nullable().describe('Requirements of the jobs; null when the jobs differ in them.'),
    workers: z
      .number()
      .nullable()
      .describe('Number of workers that meet the requirements; null when the jobs differ in them.'),
    next_free_s: z
      .number()
      .nullable()
      .describe(
        'Estimated seconds until enough of these workers are free, from the jobs that they run now; null when unknown.',
      ),
  })
  .meta({ id: 'WaitGroup', description: 'Pending jobs that wait for the same reason.' });
export type WaitGroup = Readonly<z.output<typeof WaitGroup>>;

export const WaitGroups = z.object({
  groups: z
    .array(WaitGroup)
    .describe('At most 50 groups of the first 2,000 pending jobs, by the position of their first job.'),
  ungrouped: z.number().describe('Number of pending jobs that are in no group.'),
  as_of_seq: z
    .number()
    .describe('Number of the newest event that the response includes; follow the events after it.'),
});
export type WaitGroups = Readonly<z.output<typeof WaitGroups>>;
