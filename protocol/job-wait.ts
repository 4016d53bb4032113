import { z } from 'zod';

export const JobWait = z
  .object({
    code: z
      .string()
      .describe(
        'Code of the reason: a code of the explanation, or `next` (an idle worker fits), `busy` (fitting workers cannot take a job now), `unmet` (no worker meets the requirements), `gathering` (it needs several workers at once, and some are free), `requested` (a pool has ordered a machine for it) or `no_workers`. Later versions may add codes.',
      ),
    params: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .describe(
        'Pause: `by` and `note`. Backoff: `until`. Limit: `running`, `max`, and `user` or `team`. Jobs ahead: `count`. After: `count` (jobs that it still waits for), and of one of them `job_id`, `name`, `state` and where known `left_s` (seconds until its end); if it has ended without the wanted files, `files` (`uploading` or `missing`), `detail`, and `input` and `file` of the input that is missing. Gathering: `free` and `wanted`. Requested: `pool`, `state`, and where known `engine_id`, `reason` and `until`.',
      ),
    workers: z
      .array(
        z.object({
          code: z.string().describe('Code of the check that these workers fail.'),
          count: z.number().describe('Number of workers.'),
        }),
      )
      .describe(
        'With `busy`: counts the workers that meet the requirements by what prevents dispatch (codes of the explanation).',
      ),
  })
  .meta({ id: 'JobWait', description: 'Why a job is pending, in a form that programs can translate.' });
export type JobWait = Readonly<z.output<typeof JobWait>>;
