import { z } from 'zod';

/**
 * Why a job is pending, in a form that programs can translate. `next`: an idle worker fits. `busy`: workers meet the requirements
 * but cannot take a job now. `unmet`: no worker meets them. `no_workers`: there are no workers. Later versions may add codes.
 */
export const JobWait = z
  .object({
    code: z.string(),
    /** Pause: `by` and `note`. Backoff: `until`. Limit: `running`, `max`, and `user` or `team`. Jobs ahead: `count`. */
    params: z.record(z.string(), z.union([z.string(), z.number()])),
    /**
     * With `busy`: counts the workers that meet the requirements by what prevents dispatch (codes of the explanation).
     */
    workers: z.array(z.object({ code: z.string(), count: z.number() })),
  })
  .meta({ id: 'JobWait' });
export type JobWait = Readonly<z.output<typeof JobWait>>;
