import type { Explanation } from '../../../protocol/explain.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { Core } from '../core.ts';
import type { PendingJob, WallMs } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { poolBlockers } from '../rules/pool-blockers.ts';
import { describePoolBlocker, describeRequest } from '../rules/pool-texts.ts';
import { type DemandFacts, demandFacts, demandJobOf } from './demand-facts.ts';

type PoolLine = Explanation['pools'][number];

/** Explains what the pools do for pending jobs. Uses the same decisions as the pools loop. */
export interface PoolLines {
  /** Returns a line for each pool; empty without pools. */
  linesOf(job: PendingJob): readonly PoolLine[];
  /** Describes the machine that was requested for the job; null when there is none. */
  requestFor(job: PendingJob): { readonly reason: string; readonly wait: JobWait } | null;
}

export function createPoolLines(core: Core, read: Read): PoolLines {
  const iso = (at: WallMs): string => core.clock.iso(at);
  let cached: DemandFacts | null = null;
  const facts = (): DemandFacts => (cached ??= demandFacts(core, read, core.contactOf));
  const hasPools = read.pools().length > 0;

  const requestOf = (job: PendingJob) => {
    const { pools, plan } = facts();
    const id = plan.claims.get(job.id);
    for (const { pool, coming } of pools) {
      const launch = coming.find(each => each.id === id);
      if (launch !== undefined) return { pool, launch };
    }
    return null;
  };

  return {
    linesOf(job) {
      if (!hasPools) return [];
      const { pools, now } = facts();
      const request = requestOf(job);
      return pools.map(({ pool, ...rest }): PoolLine => {
        const { id, name } = pool;
        if (request?.pool.id === id)
          return {
            pool_id: id,
            name,
            launch_id: request.launch.id,
            detail: describeRequest(pool, request.launch, iso),
          };
        const [first] = poolBlockers({ pool, ...rest }, demandJobOf(job, now), now);
        const reasonElsewhere =
          request === null ? 'The pool orders a machine for it' : 'Another pool provides its machine';
        const detail = first === undefined ? reasonElsewhere : describePoolBlocker(first, iso);
        return { pool_id: id, name, launch_id: null, detail };
      });
    },
    requestFor(job) {
      const request = hasPools ? requestOf(job) : null;
      if (request === null) return null;
      const { pool, launch } = request;
      const params: JobWait['params'] = {
        pool: pool.name,
        state: launch.state,
        ...(launch.engineId !== null && { engine_id: launch.engineId }),
        ...(launch.reason !== null && { reason: launch.reason.text }),
        ...(launch.expectedStart !== null && { until: iso(launch.expectedStart) }),
      };
      return {
        reason: describeRequest(pool, launch, iso),
        wait: { code: 'requested', params, workers: [] },
      };
    },
  };
}
