import { z } from 'zod';

export const JobWait = z
  .object({
    code: z
      .string()
      .describe(
        'Why the job waits: a code from `reasons` of the explanation, or one of these: `next` (an idle worker fits), `busy` (fitting workers cannot take a job now), `unmet` (no worker meets the requirements), `gathering` (the job needs several workers at once, and some are free), `requested` (a pool has ordered a machine for it) or `no_workers`. Later versions may add codes.',
      ),
    params: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .describe(
        'Details by code. `paused`: `by` and `note`. `backoff`: `until`. `limit`: `running`, `max`, and `user` or `team`. `ahead`: `count`. `after`: `count`, the number of awaited parents, and of one of them `job_id`, `name`, `state` and, where known, `left_s`, the seconds until it ends. If that parent ended without the wanted files: `files` (`uploading` or `missing`), `detail`, and `input` and `file` of the missing input. `busy`: `worker_id`, if only one worker meets the requirements. `gathering`: `free` and `wanted`. `requested`: `pool`, `state`, and, where known, `engine_id`, `reason` and `until`.',
      ),
    workers: z
      .array(
        z.object({
          code: z.string().describe('Code of the check that these workers fail.'),
          count: z.number().describe('Number of workers.'),
        }),
      )
      .describe(
        'With `busy`: the workers that meet the requirements, grouped by the first check that they fail. With `unmet`: the registered workers, grouped by the first requirement that they do not meet.',
      ),
  })
  .meta({ id: 'JobWait', description: 'Why a job is pending, in a form that programs can translate.' });
export type JobWait = Readonly<z.output<typeof JobWait>>;
