/**
 * What one decision costs in a small fleet, and in the largest that is to be served: as a ratio, because the times are
 * those of the machine on which it runs. One decision: a job has ended, its worker is idle again, the next placement is
 * found, and both leave the index; then a new job joins the line.
 */
import { JobId, WorkerId } from '../../protocol/ids.ts';
import { createPlacementIndex } from '../../main/orchestrator/placement/placement-index.ts';

interface Scale {
  readonly pending: number;
  readonly workers: number;
  readonly shapes: number;
}

const small: Scale = { pending: 100, workers: 10, shapes: 50 };
const large: Scale = { pending: 100_000, workers: 10_000, shapes: 50 };
const decisions = 20_000;
const rounds = 9;

/** Rigs of as many groups as there are shapes, and jobs that each want one of them. */
function fleetOf(scale: Scale): () => void {
  const index = createPlacementIndex();
  const groups = new Map<JobId, number>();
  let order = 0;
  const submit = (group: number): void => {
    const id = JobId.parse(`j_${order}`);
    const requirements = {
      target: 'auto',
      gpuCount: 1,
      vramGb: 0,
      accelerator: null,
      guarded: false,
      labels: { group: `*-${group}` },
    } as const;
    groups.set(id, group);
    index.addJob({ id, requirements, user: 'ada', level: 10, order: order++, avoid: null });
  };
  const free = (n: number): void => {
    const offering = {
      gpuCount: 1 + (n % 4),
      vramGb: 24,
      accelerator: 'cuda',
      guarded: true,
      labels: { group: `rigs-${n % scale.shapes}` },
    };
    index.addWorker({ id: WorkerId.parse(`w_${n}`), offering, order: n });
  };
  const take = (): number | undefined => {
    const placement = index.next(() => false);
    if (placement === null) return undefined;
    const group = groups.get(placement.jobId);
    groups.delete(placement.jobId);
    index.removeJob(placement.jobId);
    index.removeWorker(placement.workerId);
    return group;
  };
  for (let n = 0; n < scale.workers; n++) free(n);
  for (let n = 0; n < scale.pending; n++) submit(n % scale.shapes);
  for (let group = take(); group !== undefined; group = take()) submit(group);
  let next = 0;
  return () => {
    free(next++ % scale.workers);
    const group = take();
    if (group === undefined) throw new Error('a free worker got nothing');
    submit(group);
  };
}

function microsecondsOf(decide: () => void): number {
  const begin = process.hrtime.bigint();
  for (let n = 0; n < decisions; n++) decide();
  return Number(process.hrtime.bigint() - begin) / 1_000 / decisions;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const fleets = { small: fleetOf(small), large: fleetOf(large) };
const times = { small: new Array<number>(), large: new Array<number>() };
for (let round = 0; round < rounds; round++)
  for (const size of ['small', 'large'] as const) times[size].push(microsecondsOf(fleets[size]));
const [of, at] = [median(times.small), median(times.large)];
process.stdout.write(
  `one decision: ${of.toFixed(2)} us with 100 pending x 10 workers, ` +
    `${at.toFixed(2)} us with 100,000 x 10,000 x 50 shapes: ratio ${(at / of).toFixed(2)}\n`,
);
