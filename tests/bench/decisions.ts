/**
 * `node tests/bench/decisions.ts small|large|crowded`: prints the time of one decision in that fleet, in microseconds, as the
 * median of nine rounds. Run each fleet in a separate process. Otherwise, the garbage and the compiled code of one fleet would
 * influence the figures of the next.
 *
 * The benchmark compares a small fleet with the largest supported fleet. The ratio counts, because times depend on the machine.
 * One decision has these steps: a worker becomes idle, the placement index finds the next job and its worker, the job and the
 * worker leave the index, and a new job joins the queue. In a fleet with several users, the owner of the placed job also
 * reaches the limit per user, and is then below the limit again. Ids, requirements and offerings are created for each decision,
 * as if they came from the store. The figures include this work and the garbage collection of all pending jobs. The figures are
 * processor time of all threads of the process, so that other work on the machine does not count.
 */
import { JobId, WorkerId } from '../../protocol/ids.ts';
import { createPlacementIndex } from '../../main/orchestrator/memory/placement/placement-index.ts';
import { median } from './figures.ts';

interface Scale {
  readonly pending: number;
  readonly workers: number;
  /** Number of different requirements, each of which only some of the workers meet. */
  readonly shapes: number;
  /** Number of users. All users except one are at their limit. */
  readonly users: number;
}

const scales = {
  small: { pending: 100, workers: 10, shapes: 50, users: 1 },
  large: { pending: 100_000, workers: 10_000, shapes: 50, users: 1 },
  crowded: { pending: 100_000, workers: 10_000, shapes: 50, users: 2_000 },
} satisfies Record<string, Scale>;
const decisionsPerRound = 20_000;

/** The user who is not at the limit. */
const freeUser = 'user-0';

/**
 * Creates a group of workers for each shape (set of requirements), and jobs that each require one of the groups. Returns a
 * function that makes one decision.
 */
function createFleet({ pending, workers, shapes, users }: Scale): () => void {
  const index = createPlacementIndex();
  let order = 0;
  const submit = (group: number, user: string): void => {
    const id = JobId.parse(`j_${order}`);
    const requirements = {
      target: 'auto',
      gpuCount: 1,
      vramGb: 0,
      accelerator: null,
      guarded: false,
      configKeys: [],
      labels: { group: `*-${group}` },
    } as const;
    index.addJob({ id, requirements, user, team: null, level: 10, order: order++, avoid: null });
  };
  const addWorker = (n: number): void => {
    const offering = {
      local: false,
      nodes: 1,
      isMultiNode: false,
      gpuCount: 1 + (n % 4),
      gpuLimit: null,
      vramGb: 24,
      accelerator: 'cuda',
      guarded: true,
      configKeys: [],
      trainers: null,
      replacesOutputs: false,
      fetchesData: false,
      fetchesInputs: false,
      labels: { group: `rigs-${n % shapes}` },
    };
    index.addWorker({ id: WorkerId.parse(`w_${n}`), offering, datasets: [], order: n });
  };
  /**
   * Places the next job, and submits a job of the same kind, so that the number of pending jobs stays constant. Returns false
   * when no job can be placed.
   */
  const decide = (): boolean => {
    const placement = index.next();
    if (placement === null) return false;
    index.removeJob(placement.jobId);
    index.removeWorker(placement.workerId);
    if (users > 1) index.setUserAtLimit(freeUser, true);
    submit(Number(placement.workerId.slice('w_'.length)) % shapes, freeUser);
    if (users > 1) index.setUserAtLimit(freeUser, false);
    return true;
  };
  for (let n = 1; n < users; n++) index.setUserAtLimit(`user-${n}`, true);
  for (let n = 0; n < workers; n++) addWorker(n);
  for (let n = 0; n < pending; n++) submit(n % shapes, `user-${Math.floor(n / shapes) % users}`);
  // Give a job to every worker.
  while (decide());
  let nextWorker = 0;
  return () => {
    addWorker(nextWorker % workers);
    nextWorker += 1;
    if (!decide()) throw new Error('A free worker got no job.');
  };
}

/** Runs a round of decisions. Returns the processor time of one decision in microseconds. */
function measureRound(decide: () => void): number {
  const before = process.cpuUsage();
  for (let n = 0; n < decisionsPerRound; n++) decide();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / decisionsPerRound;
}

const name = process.argv[2] ?? '';
const scale = new Map<string, Scale>(Object.entries(scales)).get(name);
if (scale === undefined) throw new Error(`Name one fleet: ${Object.keys(scales).join(', ')}`);
const decide = createFleet(scale);
// The first round warms up the program. It does not count.
measureRound(decide);
console.log(median(Array.from({ length: 9 }, () => measureRound(decide))));
