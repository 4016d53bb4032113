/**
 * `node tests/bench/decisions.ts FLEET`, small, large or crowded: prints what a decision takes there, in microseconds, a median of nine turns. It
 * is a program of its own for each of them, as fleets are: what others have left to the garbage collector, and how their calls were
 * compiled, would be in its figures.
 *
 * What one decision costs in a small fleet, and in the largest that is to be served: as a ratio, because the times are
 * those of the machine on which it runs. One decision: a job has ended, its worker is idle again, the next placement is
 * found, and both leave the index; then a new job joins the line. Where users have limits, the one who got a worker is
 * held by theirs, and let go again. Ids,
 * requirements and offerings are made anew each time, as they are when they come from the store: making them is in the
 * figures, and so is what the garbage collector has with all that waits. Measured is the time that the process had of
 * the processors, all its threads together: other work on the machine does not count as a decision's.
 */
import { JobId, WorkerId } from '../../protocol/ids.ts';
import { createPlacementIndex } from '../../main/orchestrator/placement/placement-index.ts';
import { median } from './figures.ts';

interface Scale {
  readonly pending: number;
  readonly workers: number;
  readonly shapes: number;
  /** All of them wait in each shape, and all but one are at their limit. */
  readonly users: number;
}

const scales = {
  small: { pending: 100, workers: 10, shapes: 50, users: 1 },
  large: { pending: 100_000, workers: 10_000, shapes: 50, users: 1 },
  crowded: { pending: 100_000, workers: 10_000, shapes: 50, users: 2_000 },
} satisfies Record<string, Scale>;
const decisions = 20_000;

const free = 'user-0';

/** Rigs of as many groups as there are shapes, and jobs that each want one of them. */
function fleetOf({ pending, workers, shapes, users }: Scale): () => void {
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
      gpuCount: 1 + (n % 4),
      gpuLimit: null,
      vramGb: 24,
      accelerator: 'cuda',
      guarded: true,
      configKeys: [],
      trainers: null,
      replacesOutputs: false,
      fetchesData: false,
      labels: { group: `rigs-${n % shapes}` },
    };
    index.addWorker({ id: WorkerId.parse(`w_${n}`), offering, datasets: [], order: n });
  };
  /** Another job of the kind that is taken follows it, so that as many wait as before. */
  const decide = (): boolean => {
    const placement = index.next();
    if (placement === null) return false;
    index.removeJob(placement.jobId);
    index.removeWorker(placement.workerId);
    if (users > 1) index.setHeld(free, true);
    submit(Number(placement.workerId.slice('w_'.length)) % shapes, free);
    if (users > 1) index.setHeld(free, false);
    return true;
  };
  for (let n = 1; n < users; n++) index.setHeld(`user-${n}`, true);
  for (let n = 0; n < workers; n++) addWorker(n);
  for (let n = 0; n < pending; n++) submit(n % shapes, `user-${Math.floor(n / shapes) % users}`);
  while (decide());
  let next = 0;
  return () => {
    addWorker(next++ % workers);
    if (!decide()) throw new Error('a free worker got nothing');
  };
}

function microsecondsOf(decide: () => void): number {
  const begin = process.cpuUsage();
  for (let n = 0; n < decisions; n++) decide();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / decisions;
}

const [scale] = Object.entries(scales).flatMap(([name, each]) => (name === process.argv[2] ? [each] : []));
if (scale === undefined) throw new Error(`which fleet: ${Object.keys(scales).join(', ')}?`);
const decide = fleetOf(scale);
microsecondsOf(decide);
console.log(median(Array.from({ length: 9 }, () => microsecondsOf(decide))));
