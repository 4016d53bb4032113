import { z } from 'zod';

/**
 * Why a pending job waits, for programs that put it into their own words. Of the codes, `next` means that an idle worker fits,
 * `busy` that workers meet the requirements and take no job now, `unmet` that none meets them, and `no_workers` that there are
 * none. A later version may have others.
 */
export const JobWait = z
  .object({
    code: z.string(),
    /** `by` and `note` of a pause, `until` of a backoff, `running`, `max` and `user` or `team` of a limit, `count` of jobs ahead. */
    params: z.record(z.string(), z.union([z.string(), z.number()])),
    /** With `busy`: the workers that meet the requirements, by what keeps the job from them (codes of the explanation). */
    workers: z.array(z.object({ code: z.string(), count: z.number() })),
  })
  .meta({ id: 'JobWait' });
export type JobWait = Readonly<z.output<typeof JobWait>>;
