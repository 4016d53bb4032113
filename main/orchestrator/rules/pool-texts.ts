import type { WallMs } from '../model.ts';
import type { Launch, Pool } from '../pool-model.ts';
import type { PoolBlocker } from './pool-blockers.ts';
import { words } from './wait-texts.ts';

const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`;

/** Describes why a pool orders no machine for a job, in a sentence. */
export function describePoolBlocker(blocker: PoolBlocker, iso: (at: WallMs) => string): string {
  switch (blocker.code) {
    case 'mismatch': {
      const [first] = blocker.mismatches;
      return first === undefined ? '' : words[first.code].detail(first.wanted, first.offered);
    }
    case 'nodes':
      return `The job needs ${blocker.wanted} machines, and the pool gives at most ${blocker.max} to a job`;
    case 'launches':
      return `The pool has ${blocker.max} open launches, which is its limit (max_launches)`;
    case 'waiting':
      return `${blocker.max} launches of the pool wait in its engine, which is its limit (max_waiting)`;
    case 'gpus':
      return `The pool would have ${blocker.wanted} GPUs, and its limit is ${blocker.max} (max_gpus)`;
    case 'impossible':
      return `The engine refused such a machine: ${blocker.message}. Change the pool, or resume it to try again`;
    case 'paused':
      return `${blocker.by} paused the pool${blocker.reason === '' ? '' : `: ${blocker.reason}`}`;
    case 'unreachable':
      return 'The engine of the pool does not answer';
    case 'hours':
      return 'The pool orders no machines at this time of day (hours)';
    case 'budget':
      return `The pool has used ${blocker.used.toFixed(1)} of ${blocker.max} GPU-hours today (gpu_hours_per_day)`;
    case 'backoff':
      return `The engine refused for now; the pool tries again at ${iso(blocker.until)}`;
    case 'spill_over':
      return `The pool orders a machine in ${seconds(blocker.afterMs)} if no other worker takes the job (after_s)`;
  }
}

const stateWords: { readonly [S in Launch['state']]: string } = {
  wanted: 'about to be submitted',
  submitting: 'being submitted',
  unclear: 'the engine has not confirmed it yet',
  waiting: 'waiting in the engine',
  running: 'its machine has started, and its worker connects',
  joined: 'its worker has registered',
  ending: 'ending',
  ended: 'ended',
};

/** Describes a launch, such as "Requested from pool gpu at ... (Slurm job 1234): waiting ...; expected to start at ...". */
export function describeRequest(pool: Pool, launch: Launch, iso: (at: WallMs) => string): string {
  const { engineId, state, reason, expectedStart, orderedAt, detail } = launch;
  const id = engineId === null ? '' : ` (${engineNames[pool.engine.kind]} ${engineId})`;
  const why =
    reason === null ? (detail ?? stateWords[state]) : `${reasonWords[reason.kind]} (${reason.text})`;
  const start = expectedStart === null ? '' : `; expected to start at ${iso(expectedStart)}`;
  return `Requested from pool ${pool.name} at ${iso(orderedAt)}${id}: ${why}${start}`;
}

const engineNames = { slurm: 'Slurm job', kubernetes: 'Kubernetes job', command: 'id' } as const;

const reasonWords = {
  quota: 'waiting for its quota',
  resources: 'waiting for a free machine',
  held: 'held',
  dependency: 'waiting for another job',
  other: 'waiting',
} as const;
