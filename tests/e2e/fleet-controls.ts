/** Controls the machines and jobs in the documentation's screenshots. The agents are real; their GPUs are simulated. */
import { expect } from '@playwright/test';
import {
  createSimulatedWorker,
  type SimulatedWorker,
  type SimulatedTrainer,
} from '../../agent/simulated/simulated-worker.ts';
import type { DatasetView } from '../../protocol/datasets-api.ts';
import type { Progress } from '../../protocol/reports.ts';
import { pushDataset } from '../support/push-dataset.ts';
import { upload } from '../support/upload-bench.ts';
import { type Config, createConfig } from './fleet-configs.ts';
import { hardwareOf, labelsOf, type MachineName, telemetryOf } from './fleet-machines.ts';
import { drawSample, prompts } from './fleet-samples.ts';
import type { Orchestrator } from './panel.ts';

type Exit = Awaited<ReturnType<SimulatedTrainer>['exited']>;

interface Training {
  readonly uploadToken: string;
  readonly report: (progress: Progress) => void;
  readonly end: (exit: Exit) => void;
}

interface JobOptions {
  /** Total number of steps. */
  readonly steps: number;
  /** Values of the config that differ from those of its family. */
  readonly config?: Config;
  /** Other fields of the submission, such as the requirements. */
  readonly [field: string]: unknown;
}

type TrainingProgress = Progress & { readonly step: number; readonly loss: number };

/** Number of points of a curve between two reports. */
const pointCount = 24;
const firstLoss = 0.26;

/** Returns progress from `firstStep` to the step of `last`, with a falling and noisy loss. */
function progressBetween(firstStep: number, last: TrainingProgress): readonly Progress[] {
  return Array.from({ length: pointCount }, (_, index) => {
    const share = (index + 1) / pointCount;
    const step = Math.round(firstStep + (last.step - firstStep) * share);
    const trend = last.loss + (firstLoss - last.loss) * Math.exp((-4.5 * step) / last.step);
    const noise = 1 + 0.05 * Math.sin(step * 1.7);
    return { ...last, step, loss: Number((trend * noise).toFixed(4)) };
  });
}

/** Returns functions that add machines to the fleet, run jobs on them and shift the orchestrator's clock. */
export function createFleetControls(orchestrator: Orchestrator) {
  const { call } = orchestrator;
  const workers = new Map<string, string>();
  const jobs = new Map<string, string>();
  const datasets = new Map<string, string>();
  const trainings = new Map<string, Training>();
  const agents = new Map<string, { readonly worker: SimulatedWorker; readonly exited: Promise<number> }>();

  const join = async (name: MachineName): Promise<void> => {
    const { id, token } = await orchestrator.createWorker({ name, labels: labelsOf(name) });
    workers.set(name, id);
    const worker = startWorker(orchestrator.url, name, token, trainings);
    agents.set(name, { worker, exited: worker.run() });
    await waitFor(`/api/admin/workers/${id}`, { status: 'idle' });
  };
  /** Waits until the object at a path has these fields. */
  const waitFor = (path: string, fields: Record<string, unknown>): Promise<void> =>
    expect.poll(() => call('GET', path), { intervals: [50], timeout: 20_000 }).toMatchObject(fields);
  const submit = async (name: string, { steps, config = {}, ...fields }: JobOptions): Promise<string> => {
    const id = await orchestrator.submit({
      config_name: name,
      config: createConfig(name, steps, config),
      target: 'worker',
      ...fields,
    });
    jobs.set(name, id);
    return id;
  };
  /** Submits a job, and waits until a worker runs it. */
  const startJob = async (name: string, options: JobOptions) => {
    const path = `/api/queue/${await submit(name, options)}`;
    let lastStep = 0;
    const currentTraining = (): Training => {
      const training = trainings.get(name);
      if (training === undefined) throw new Error(`no worker trains ${name}`);
      return training;
    };
    const waitUntilRunning = (): Promise<void> => waitFor(path, { status: 'running' });
    /** Reports all points up to this progress. */
    const advanceTo = async (progress: TrainingProgress): Promise<void> => {
      const training = currentTraining();
      const report = { total_steps: options.steps, learning_rate: 1e-4, ...progress };
      for (const point of progressBetween(lastStep, report)) training.report(point);
      training.report(report);
      lastStep = progress.step;
      await waitFor(path, { progress: { step: progress.step } });
    };
    await waitUntilRunning();
    return {
      waitUntilRunning,
      advanceTo,
      /** Makes the trainer exit with an error. `tail`: the end of its output. */
      async fail(progress: TrainingProgress, tail: string): Promise<void> {
        await advanceTo(progress);
        currentTraining().end({ code: 1, signal: null, tail });
        await waitFor(path, { status: 'failed' });
      },
      /** Uploads samples of these steps, with the names that SimpleTuner gives them. */
      async uploadSamples(...steps: readonly number[]): Promise<void> {
        for (const step of steps)
          for (const prompt of prompts) {
            const body = drawSample(name, prompt, step / options.steps);
            const key = `validation_images/step_${step}_${prompt}_0_176x176.png`;
            const response = await upload(orchestrator.url, currentTraining().uploadToken, key, { body });
            expect(response.status, key).toBe(200);
          }
      },
      async complete(loss: number): Promise<void> {
        await advanceTo({ step: options.steps, loss });
        currentTraining().end({ code: 0, signal: null, tail: '' });
        await waitFor(path, { status: 'completed' });
      },
    };
  };
  /** Pushes a dataset with this number of pictures. A new version contains the pictures of the previous one. */
  const push = async (name: string, count: number): Promise<DatasetView> => {
    const contentOf = (number: number): string => `${name} ${number} `.repeat(9_000);
    const files = Array.from({ length: count }, (_, number) => [`${number}.jpg`, contentOf(number)] as const);
    const dataset = await pushDataset(orchestrator, name, Object.fromEntries(files));
    datasets.set(name, String(dataset.id));
    return dataset;
  };
  return {
    workers,
    jobs,
    datasets,
    join,
    submit,
    push,
    startJob,
    /** Sets the clock of the orchestrator to this many minutes before now. */
    setClock: (minutesAgo: number): Promise<void> => orchestrator.shiftClock(-minutesAgo * 60_000),
    async stopWorker(name: MachineName): Promise<void> {
      agents.get(name)?.worker.leaveNow();
      await agents.get(name)?.exited;
    },
    drain: (name: MachineName, reason: string) =>
      call('POST', `/api/admin/workers/${workers.get(name)}/drain`, { reason }),
    /** Waits until each connected worker has sent a heartbeat since the clock was corrected. */
    async waitForHeartbeats(): Promise<void> {
      const oldest = async (): Promise<number> => {
        const list = (await call('GET', '/api/admin/workers'))['workers'] as readonly {
          readonly status: string;
          readonly last_heartbeat: string;
        }[];
        const connected = list.filter(({ status }) => status !== 'offline');
        return Math.min(...connected.map(({ last_heartbeat: heartbeat }) => Date.parse(heartbeat)));
      };
      const now = Date.now();
      await expect.poll(oldest, { timeout: 30_000 }).toBeGreaterThan(now);
    },
    async stopAllWorkers(): Promise<void> {
      for (const { worker } of agents.values()) worker.leaveNow();
      await Promise.all([...agents.values()].map(({ exited }) => exited));
    },
  };
}

const trackerLinks = [
  { kind: 'wandb', url: 'https://wandb.ai/atelier/kolors/runs/8k2v1q0x' },
  { kind: 'mlflow', url: 'http://127.0.0.1:5000/#/experiments/4/runs/0b7f5e9c2d' },
] as const;

function startWorker(
  url: string,
  name: MachineName,
  token: string,
  trainings: Map<string, Training>,
): SimulatedWorker {
  let isBusy = false;
  let heartbeats = 0;
  return createSimulatedWorker({
    url,
    token,
    name,
    persistent: true,
    ...hardwareOf(name),
    trainer({ configName, uploadToken }, report, link) {
      if (configName === 'kolors-lora-fashion') for (const trackerLink of trackerLinks) link(trackerLink);
      const exited = Promise.withResolvers<Exit>();
      isBusy = true;
      const end = (exit: Exit): void => {
        isBusy = false;
        exited.resolve(exit);
      };
      trainings.set(configName, { uploadToken: uploadToken ?? '', report, end });
      return { exited: exited.promise, stop: () => end({ code: null, signal: 'SIGTERM', tail: '' }) };
    },
    telemetry() {
      heartbeats += 1;
      return telemetryOf(name, isBusy, heartbeats);
    },
    random: Math.random,
    onConnection: () => undefined,
    log: () => undefined,
  });
}
