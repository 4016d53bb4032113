import type { Clock } from '../../agent/simulated/simulated-worker.ts';
import { queueApi, type SubmitRequest } from '../../protocol/queue-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { isWaiting, type JobView } from '../../protocol/job.ts';
import { CommandEnd } from '../../main/cli/failure.ts';
import type { Remote } from '../../main/cli/remote.ts';
import { fleetLabel, type Machine } from './hardware.ts';
import type { Random } from './random.ts';

interface Sample {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Memory that the job needs on each GPU, in GB. */
  readonly vramGb: number;
}

const samples: readonly [Sample, ...Sample[]] = [
  {
    name: 'sd15-lora-watercolour',
    vramGb: 12,
    config: { model_family: 'sd1x', model_type: 'lora', learning_rate: 1e-4 },
  },
  {
    name: 'sdxl-lora-portraits',
    vramGb: 20,
    config: { model_family: 'sdxl', model_type: 'lora', lora_rank: 16 },
  },
  {
    name: 'flux-lora-product',
    vramGb: 24,
    config: { model_family: 'flux', model_type: 'lora', base_model_precision: 'int8-quanto' },
  },
  {
    name: 'flux-full-finetune',
    vramGb: 80,
    config: { model_family: 'flux', model_type: 'full', gradient_checkpointing: true },
  },
  {
    name: 'ltxvideo-lora-motion',
    vramGb: 64,
    config: { model_family: 'ltxvideo', model_type: 'lora', framerate: 25 },
  },
];
const priorities = [0, 10, 10, 10, 20, 30] as const;

/**
 * Returns a job that fits the machine, and that no worker outside the demo can run.
 *
 * @internal
 */
export function sampleJob(
  machine: Machine,
  random: Random,
): Pick<
  SubmitRequest,
  'config_name' | 'config' | 'worker_labels' | 'gpu_count' | 'gpu_vram_gb' | 'priority'
> {
  const [smallest] = samples;
  const { name, config, vramGb } = random.pick([
    smallest,
    ...samples.filter(sample => sample.vramGb <= machine.vramGb),
  ]);
  const steps = 100 * Math.round(random.between(5, 40));
  return {
    config_name: name,
    config: { ...config, max_train_steps: steps, train_batch_size: random.pick([1, 2, 4]) },
    worker_labels: { ...fleetLabel, gpu_type: `${machine.gpuType.split('-', 1)[0]}*` },
    gpu_count: Math.ceil(machine.gpuCount * random.pick([0.5, 1])),
    gpu_vram_gb: vramGb,
    priority: random.pick(priorities),
  };
}

export interface SubmitDeps {
  readonly remote: Remote;
  readonly machines: readonly [Machine, ...Machine[]];
  readonly everyMs: number;
  readonly random: Random;
  readonly clock: Clock;
  /** Receives the failure message, or null once submitting works again. */
  readonly onTrouble: (message: string | null) => void;
}

export interface Submitting {
  readonly count: () => number;
  /** Stops submitting, and cancels the jobs that have not ended. */
  stop(): Promise<void>;
}

/** The demo submits no jobs while this many jobs are pending, including jobs of other users. */
const maxQueue = 100;
/** Maximum number of active jobs that the demo reads from the server. */
const maxActive = 500;

/** Sort key that puts pending jobs before running jobs. */
const cancelOrder = ({ status }: Pick<JobView, 'status'>): number => (isWaiting(status) ? 0 : 1);

/** Submits jobs at random times with a given average rate. */
export function submitSamples(deps: SubmitDeps): Submitting {
  const { remote, random, clock } = deps;
  const ids = new Set<JobId>();
  let count = 0;
  let isOver = false;
  let cancelTimer = (): void => {};
  let lastSubmission = Promise.resolve();

  const submit = async (): Promise<void> => {
    const queue = await remote.request(queueApi.list, { query: { limit: 1 } });
    if (queue.total_pending >= maxQueue) return;
    const body = sampleJob(random.pick(deps.machines), random);
    const reply = await remote.request(queueApi.submit, { body });
    if (reply.job_id !== null) ids.add(reply.job_id);
    count += 1;
    if (ids.size > 2 * maxActive) await forgetEnded();
  };
  const listActive = async () => {
    const query = { include_completed: 'false', limit: maxActive };
    const { entries } = await remote.request(queueApi.list, { query });
    return entries.filter(({ id }) => ids.has(id));
  };
  const forgetEnded = async (): Promise<void> => {
    const active = await listActive();
    ids.clear();
    for (const { id } of active) ids.add(id);
  };
  const submitNext = (): void => {
    lastSubmission = submit()
      .then(() => deps.onTrouble(null), reportFailure)
      .then(scheduleNext);
  };
  const reportFailure = (cause: unknown): void => {
    if (!(cause instanceof CommandEnd)) throw cause;
    deps.onTrouble(cause.failure.message);
  };
  const scheduleNext = (): void => {
    // The intervals are exponentially distributed, as with independent users (a Poisson process).
    const waitMs = Math.min(5, -Math.log(1 - random.next())) * deps.everyMs;
    if (!isOver) cancelTimer = clock.after(waitMs, submitNext);
  };
  scheduleNext();
  return {
    count: () => count,
    async stop() {
      isOver = true;
      cancelTimer();
      await lastSubmission;
      // Cancel pending jobs first. Otherwise they would start on the workers of cancelled jobs.
      const active = (await listActive()).toSorted((a, b) => cancelOrder(a) - cancelOrder(b));
      for (const { id } of active) {
        await remote.request(queueApi.cancel, { params: { id } }).catch((cause: unknown) => {
          // Ignore the refusal for a job that has just ended.
          if (!(cause instanceof CommandEnd)) throw cause;
        });
      }
    },
  };
}
