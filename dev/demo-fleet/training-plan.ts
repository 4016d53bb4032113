import type { Clock, SimulatedTraining, Telemetry } from '../../agent/simulated/simulated-worker.ts';
import type { TrainerConfig } from '../../protocol/job.ts';
import type { Progress } from '../../protocol/reports.ts';
import type { Machine } from './hardware.ts';
import type { Random } from './random.ts';

/** The plan of a simulated training: its length, its loss, and whether it fails. */
export interface TrainingPlan {
  readonly totalSteps: number;
  readonly stepsPerEpoch: number;
  /** Duration of all steps. */
  readonly durationMs: number;
  readonly peakLearningRate: number;
  readonly curve: LossCurve;
  /** The failure of the training; null when it completes. */
  readonly failure: Failure | null;
}

/** A loss that falls from `start` towards `floor`, with noise. */
interface LossCurve {
  readonly start: number;
  readonly floor: number;
  /** Number of times that the distance to `floor` shrinks by a factor of e. */
  readonly eFoldings: number;
  readonly noise: number;
}

interface Failure {
  readonly atStep: number;
  readonly code: number;
  readonly lines: readonly string[];
}

export interface TrainingSettings {
  readonly jobSeconds: number;
  /** The share of jobs that fail, 0 to 1. */
  readonly failRate: number;
}

const warmUpShare = 0.05;

/** Plans a training at random. Uses the number of steps in the job's config, if the config contains a valid one. */
export function planTraining(
  config: TrainerConfig,
  { gpuCount, accelerator, vramGb }: Machine,
  { jobSeconds, failRate }: TrainingSettings,
  random: Random,
): TrainingPlan {
  const totalSteps = configuredSteps(config) ?? 50 * Math.round(random.between(8, 60));
  const fails = random.next() < failRate;
  const atStep = Math.max(1, Math.floor(totalSteps * random.between(0.02, 0.9)));
  return {
    totalSteps,
    stepsPerEpoch: Math.max(1, Math.round(totalSteps / random.between(4, 12))),
    durationMs: jobSeconds * 1000 * random.between(0.7, 1.3),
    peakLearningRate: random.pick([1e-4, 5e-5, 2e-4]) * Math.sqrt(gpuCount),
    curve: {
      start: random.between(0.35, 0.9),
      floor: random.between(0.04, 0.09),
      eFoldings: random.between(3, 6),
      noise: random.between(0.03, 0.1),
    },
    failure: fails ? { atStep, code: 1, lines: failureOutput(accelerator, vramGb, atStep, random) } : null,
  };
}

/** Returns the step count that a SimpleTuner config sets; null when it is missing or invalid. */
function configuredSteps(config: TrainerConfig): number | null {
  const steps = config['max_train_steps'] ?? config['--max_train_steps'];
  return typeof steps === 'number' && Number.isInteger(steps) && steps >= 1 && steps <= 1e7 ? steps : null;
}

function failureOutput(
  accelerator: Machine['accelerator'],
  vramGb: number,
  step: number,
  random: Random,
): readonly string[] {
  const allocationGb = random.between(1.5, 6).toFixed(2);
  const brand = accelerator === 'rocm' ? 'HIP' : 'CUDA';
  const outOfMemory = [
    'Traceback (most recent call last):',
    '  File "simpletuner/train.py", line 41, in <module>',
    `torch.OutOfMemoryError: ${brand} out of memory. Tried to allocate ${allocationGb} GiB. GPU 0 has a total capacity of ${vramGb}.00 GiB of which 0.41 GiB is free.`,
  ];
  const otherErrors = [
    [
      'Traceback (most recent call last):',
      `ValueError: loss is nan at step ${step}: lower the learning rate`,
    ],
    [
      'Traceback (most recent call last):',
      "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/metadata.parquet'",
    ],
    [
      'Traceback (most recent call last):',
      'RuntimeError: DataLoader worker (pid 4211) exited unexpectedly with exit code 1',
    ],
  ] as const;
  const isOutOfMemory = random.next() < 0.5 && accelerator !== 'mps';
  return isOutOfMemory ? outOfMemory : random.pick<readonly string[]>(otherErrors);
}

/** Returns the progress that a trainer prints at a step. `jitter` is a random number from -1 to 1 that differs for each print. */
export function progressAt(plan: TrainingPlan, step: number, jitter: number): Progress {
  const { totalSteps, durationMs, stepsPerEpoch, curve } = plan;
  const share = step / totalSteps;
  const decay = Math.exp(-curve.eFoldings * share);
  const loss = curve.floor + (curve.start - curve.floor) * decay;
  return {
    step,
    total_steps: totalSteps,
    percent: round(100 * share, 1),
    epoch: Math.floor(step / stepsPerEpoch) + 1,
    loss: round(loss * (1 + curve.noise * jitter), 5),
    learning_rate: learningRateAt(plan, share),
    steps_per_second: round((totalSteps / (durationMs / 1000)) * (1 + 0.05 * jitter), 2),
    metrics: { grad_norm: round(0.2 + decay + 0.1 * Math.abs(jitter), 3) },
  };
}

/** Returns the learning rate: a linear warm-up, then cosine decay. */
function learningRateAt({ peakLearningRate }: TrainingPlan, share: number): number {
  const scale =
    share < warmUpShare
      ? share / warmUpShare
      : (1 + Math.cos((Math.PI * (share - warmUpShare)) / (1 - warmUpShare))) / 2;
  return Number((peakLearningRate * scale).toPrecision(4));
}

/** Returns GPU telemetry in the agent's format. As with real agents, only NVIDIA and AMD GPUs report values. */
export function telemetryOf(
  { accelerator, gpuCount, vramGb, powerLimitW }: Machine,
  isTraining: boolean,
  random: Random,
): Telemetry {
  if (accelerator !== 'cuda' && accelerator !== 'rocm') return {};
  const between = (training: Range, idle: Range): number => random.between(...(isTraining ? training : idle));
  const gpus = Array.from({ length: gpuCount }, (_, index) => ({
    index,
    utilization: Math.round(between([88, 100], [0, 2])),
    vram_used_gb: round(vramGb * between([0.78, 0.93], [0.01, 0.02]), 2),
    temperature_c: Math.round(between([58, 76], [29, 38])),
    power_w: round(powerLimitW * between([0.72, 0.97], [0.06, 0.12]), 1),
    power_limit_w: accelerator === 'cuda' ? powerLimitW : null,
  }));
  const sum = (value: (gpu: (typeof gpus)[number]) => number): number =>
    gpus.reduce((total, gpu) => total + value(gpu), 0);
  return {
    gpu_utilization: Math.round(sum(gpu => gpu.utilization) / gpuCount),
    vram_used_gb: round(
      sum(gpu => gpu.vram_used_gb),
      1,
    ),
    gpu_figures: gpus,
  };
}

type Range = readonly [from: number, to: number];

const round = (value: number, digits: number): number => Number(value.toFixed(digits));

/** Interval of progress output. */
const printEveryMs = 2_000;
/** Time from SIGTERM to exit. */
const stopMs = 200;
const endBySignal = { code: null, signal: 'SIGTERM', tail: '' } as const;

/** Simulates the planned training: reports progress, and exits after the planned time or a stop. */
export function train(
  plan: TrainingPlan,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  onProgress: (progress: Progress) => void,
): SimulatedTraining {
  const exited = Promise.withResolvers<Awaited<SimulatedTraining['exited']>>();
  const startedAt = clock.mono();
  const lastStep = plan.failure?.atStep ?? plan.totalSteps;
  /** Time from the start to the last step. */
  const runMs = (plan.durationMs * lastStep) / plan.totalSteps;
  let cancelTimer = (): void => {};
  const stepNow = (): number =>
    Math.min(lastStep, Math.floor(((clock.mono() - startedAt) / plan.durationMs) * plan.totalSteps));
  const print = (step: number): void => onProgress(progressAt(plan, step, 2 * random.next() - 1));
  const end = (): void => {
    print(lastStep);
    const { failure } = plan;
    exited.resolve({ code: failure?.code ?? 0, signal: null, tail: failure?.lines.join('\n') ?? '' });
  };
  const continueTraining = (): void => {
    const remainingMs = startedAt + runMs - clock.mono();
    if (remainingMs <= 0) return end();
    print(stepNow());
    cancelTimer = clock.after(Math.min(remainingMs, printEveryMs), continueTraining);
  };
  cancelTimer = clock.after(Math.min(runMs, printEveryMs * random.next()), continueTraining);
  return {
    exited: exited.promise,
    stop() {
      cancelTimer();
      cancelTimer = clock.after(stopMs, () => exited.resolve(endBySignal));
    },
  };
}
