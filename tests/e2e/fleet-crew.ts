/** The people and machines of the fleet in the pictures. Its agents are real; their GPUs are simulated. */
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
import { type Config, configOf } from './fleet-configs.ts';
import { hardwareOf, labelsOf, type MachineName, telemetryOf } from './fleet-machines.ts';
import { prompts, sampleOf } from './fleet-samples.ts';
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
  readonly [need: string]: unknown;
}

type Reached = Progress & { readonly step: number; readonly loss: number };

/** Number of points of a curve between two reports. */
const points = 24;
const firstLoss = 0.26;

/** Returns progress between two reports, with a falling and uneven loss. */
function progressBetween(from: number, to: Reached): readonly Progress[] {
  return Array.from({ length: points }, (_, index) => {
    const share = (index + 1) / points;
    const step = Math.round(from + (to.step - from) * share);
    const falling = to.loss + (firstLoss - to.loss) * Math.exp((-4.5 * step) / to.step);
    return { ...to, step, loss: Number((falling * (1 + 0.05 * Math.sin(step * 1.7))).toFixed(4)) };
  });
}

export function createCrew(orchestrator: Orchestrator) {
  const { call } = orchestrator;
  const workers = new Map<string, string>();
  const jobs = new Map<string, string>();
  const datasets = new Map<string, string>();
  const trainings = new Map<string, Training>();
  const agents = new Map<string, { readonly worker: SimulatedWorker; readonly left: Promise<number> }>();

  const join = async (name: MachineName): Promise<void> => {
    const created = await call('POST', '/api/admin/workers', { name, labels: labelsOf(name) });
    const id = String(created['worker_id']);
    workers.set(name, id);
    const worker = startWorker(orchestrator.url, name, String(created['token']), trainings);
    agents.set(name, { worker, left: worker.run() });
    await see(`/api/admin/workers/${id}`, { status: 'idle' });
  };
  const see = (path: string, part: Record<string, unknown>): Promise<void> =>
    expect.poll(() => call('GET', path), { intervals: [50], timeout: 20_000 }).toMatchObject(part);
  const submit = async (name: string, { steps, config = {}, ...needs }: JobOptions): Promise<string> => {
    const all = configOf(name, steps, config);
    const id = await orchestrator.submit({ config_name: name, config: all, target: 'worker', ...needs });
    jobs.set(name, id);
    return id;
  };
  const work = async (name: string, options: JobOptions) => {
    const path = `/api/queue/${await submit(name, options)}`;
    let reached = 0;
    const training = (): Training => {
      const found = trainings.get(name);
      if (found === undefined) throw new Error(`nobody trains ${name}`);
      return found;
    };
    const runs = (): Promise<void> => see(path, { status: 'running' });
    const is = async (progress: Reached): Promise<void> => {
      const all = { total_steps: options.steps, learning_rate: 1e-4, ...progress };
      for (const each of progressBetween(reached, all)) training().report(each);
      training().report(all);
      reached = progress.step;
      await see(path, { progress: { step: progress.step } });
    };
    const fails = async (progress: Reached, tail: string): Promise<void> => {
      await is(progress);
      training().end({ code: 1, signal: null, tail });
      await see(path, { status: 'failed' });
    };
    await runs();
    return {
      runs,
      is,
      fails,
      /** Uploads samples of a step, as SimpleTuner names them. */
      async draws(...steps: readonly number[]): Promise<void> {
        for (const step of steps)
          for (const prompt of prompts) {
            const body = sampleOf(name, prompt, step / options.steps);
            const key = `validation_images/step_${step}_${prompt}_0_176x176.png`;
            const sent = await upload(orchestrator.url, training().uploadToken, key, { body });
            expect(sent.status, key).toBe(200);
          }
      },
      async completes(loss: number): Promise<void> {
        await is({ step: options.steps, loss });
        training().end({ code: 0, signal: null, tail: '' });
        await see(path, { status: 'completed' });
      },
    };
  };
  /** Pushes a dataset with this number of pictures. A new version contains the pictures of the previous one. */
  const push = async (name: string, count: number): Promise<DatasetView> => {
    const picture = (number: number): string => `${name} ${number} `.repeat(9_000);
    const files = Array.from({ length: count }, (_, number) => [`${number}.jpg`, picture(number)] as const);
    const made = await pushDataset(orchestrator, name, Object.fromEntries(files));
    datasets.set(name, String(made.id));
    return made;
  };
  return {
    workers,
    jobs,
    datasets,
    join,
    submit,
    push,
    work,
    ago: (minutes: number): Promise<void> => orchestrator.shiftClock(-minutes * 60_000),
    async leaves(name: MachineName): Promise<void> {
      agents.get(name)?.worker.leaveNow();
      await agents.get(name)?.left;
    },
    drains: (name: MachineName, reason: string) =>
      call('POST', `/api/admin/workers/${workers.get(name)}/drain`, { reason }),
    /** Waits until each connected worker has sent a heartbeat since the clock was corrected. */
    async waitForHeartbeats(): Promise<void> {
      const oldest = async (): Promise<number> => {
        const list = (await call('GET', '/api/admin/workers'))['workers'] as readonly {
          readonly status: string;
          readonly last_heartbeat: string;
        }[];
        const there = list.filter(({ status }) => status !== 'offline');
        return Math.min(...there.map(({ last_heartbeat: at }) => Date.parse(at)));
      };
      const now = Date.now();
      await expect.poll(oldest, { timeout: 30_000 }).toBeGreaterThan(now);
    },
    async leave(): Promise<void> {
      for (const { worker } of agents.values()) worker.leaveNow();
      await Promise.all([...agents.values()].map(({ left }) => left));
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
  let beats = 0;
  return createSimulatedWorker({
    url,
    token,
    name,
    persistent: true,
    ...hardwareOf(name),
    trainer({ configName, uploadToken }, report, link) {
      if (configName === 'kolors-lora-fashion') for (const each of trackerLinks) link(each);
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
      beats += 1;
      return telemetryOf(name, isBusy, beats);
    },
    random: Math.random,
    onConnection: () => undefined,
    log: () => undefined,
  });
}
