/**
 * A realistic fleet with the jobs of one day, some ended and some pending. Its agents are real; their GPUs are
 * simulated. A training advances to a given step and then stays there.
 */
import { expect } from '@playwright/test';
import { createSimulatedWorker, type SimulatedWorker } from '../../agent/simulated/simulated-worker.ts';
import type { DatasetView } from '../../protocol/datasets-api.ts';
import type { Progress } from '../../protocol/reports.ts';
import { pushDataset } from '../support/push-dataset.ts';
import type { Orchestrator } from './panel.ts';

const nvidia = { accelerator: 'cuda', driver: '570.133.20' } as const;
const machines = {
  atlas: {
    ...nvidia,
    gpu: 'NVIDIA A100-SXM4-80GB',
    gpus: 4,
    vramGb: 80,
    labels: { gpu_type: 'a100-80gb', team: 'research', site: 'berlin' },
  },
  boreas: {
    ...nvidia,
    gpu: 'NVIDIA H100 80GB HBM3',
    gpus: 8,
    vramGb: 80,
    labels: { gpu_type: 'h100-80gb', team: 'video' },
  },
  calypso: {
    ...nvidia,
    gpu: 'NVIDIA GeForce RTX 4090',
    gpus: 2,
    vramGb: 24,
    labels: { gpu_type: 'rtx4090', team: 'portraits' },
  },
  daedalus: {
    ...nvidia,
    gpu: 'NVIDIA GeForce RTX 4090',
    gpus: 1,
    vramGb: 24,
    labels: { gpu_type: 'rtx4090', team: 'icons' },
  },
  echo: {
    accelerator: 'rocm',
    driver: '6.12.12',
    gpu: 'AMD Radeon RX 7900 XTX',
    gpus: 1,
    vramGb: 24,
    labels: { gpu_type: 'rx7900xtx', site: 'berlin' },
  },
  fenrir: {
    ...nvidia,
    gpu: 'NVIDIA GeForce RTX 4090',
    gpus: 1,
    vramGb: 24,
    labels: { gpu_type: 'rtx4090', team: 'brand' },
  },
  gaia: { accelerator: 'mps', gpu: 'Apple M2 Ultra', gpus: 1, vramGb: 64, labels: { gpu_type: 'm2-ultra' } },
  juno: {
    ...nvidia,
    gpu: 'NVIDIA GeForce RTX 4090',
    gpus: 1,
    vramGb: 24,
    labels: { gpu_type: 'rtx4090', team: 'brand' },
  },
} as const;
type MachineName = keyof typeof machines;

/** GPU utilization of a busy GPU in percent, one value for each heartbeat. */
const busyUtilization = [98, 96, 99, 93, 97, 99, 91, 98, 95, 99] as const;

type Exit = Awaited<ReturnType<Parameters<typeof createSimulatedWorker>[0]['trainer']>['exited']>;

interface Training {
  readonly report: (progress: Progress) => void;
  readonly end: (exit: Exit) => void;
}

export interface ShownFleet {
  /** Ids of the workers by name. */
  readonly workers: ReadonlyMap<string, string>;
  /** Ids of the jobs by config name. */
  readonly jobs: ReadonlyMap<string, string>;
  /** Id of the newest version of each dataset, by its name. */
  readonly datasets: ReadonlyMap<string, string>;
  leave(): Promise<void>;
}

/** Heartbeat timeout in seconds. A short one makes workers send heartbeats often. */
export const silenceS = 24;

/** Simulates a whole day in seconds, so the orchestrator must have a clock of its own. */
export async function showFleet(orchestrator: Orchestrator): Promise<ShownFleet> {
  const fleet = createFleet(orchestrator);
  const { startJob, submit, push, join, setMinutesAgo } = fleet;

  await setMinutesAgo(4 * 24 * 60);
  for (const name of ['atlas', 'boreas', 'calypso', 'daedalus', 'echo', 'gaia', 'juno'] as const)
    await join(name);
  await setMinutesAgo(540);
  const watercolour = await startJob('sd15-lora-watercolour', { worker_labels: { team: 'brand' } });
  await setMinutesAgo(512);
  await watercolour.completes({ step: 3_000, loss: 0.0713 });
  await setMinutesAgo(470);
  const portraits = await startJob('sdxl-lora-portraits', {
    worker_labels: { team: 'portraits' },
    gpu_count: 2,
  });
  await setMinutesAgo(461);
  await portraits.runsOutOfMemory(412);
  await setMinutesAgo(455);
  const product = await startJob('flux-lora-product', { worker_labels: { team: 'portraits' }, gpu_count: 2 });
  await setMinutesAgo(371);
  await product.completes({ step: 4_000, loss: 0.1021 });
  const motion = await startJob('ltxvideo-lora-motion', {
    worker_labels: { gpu_type: 'h100*' },
    gpu_count: 8,
  });
  const edits = await startJob('qwen-image-edit-lora', {
    worker_labels: { gpu_type: 'a100*' },
    gpu_count: 4,
  });
  await setMinutesAgo(180);
  await edits.completes({ step: 6_000, loss: 0.0584 });
  await setMinutesAgo(135);
  await motion.completes({ step: 8_000, loss: 0.1337 });

  await setMinutesAgo(96);
  const flux = await startJob('flux-full-finetune', { worker_labels: { gpu_type: 'a100*' }, gpu_count: 4 });
  await setMinutesAgo(58);
  await submit('flux-full-finetune-v2', {
    worker_labels: { gpu_type: 'a100*' },
    gpu_count: 4,
    gpu_vram_gb: 80,
  });
  await setMinutesAgo(52);
  const textures = await startJob('kolors-lora-textures', { worker_labels: { team: 'brand' } });
  await setMinutesAgo(50);
  await join('fenrir');
  const fashion = await startJob('kolors-lora-fashion', { worker_labels: { team: 'brand' } });
  await fashion.reports({ step: 640, total_steps: 3_000, loss: 0.2211, steps_per_second: 1.4 });
  await setMinutesAgo(44);
  const dance = await startJob('ltxvideo-lora-dance', { worker_labels: { gpu_type: 'h100*' }, gpu_count: 8 });
  await textures.completes({ step: 1_500, loss: 0.0911 });
  await setMinutesAgo(41);
  await fleet.leaves('fenrir');
  await fashion.runs();
  await setMinutesAgo(33);
  const again = await startJob('sdxl-lora-portraits-int8', {
    worker_labels: { team: 'portraits' },
    gpu_count: 2,
  });
  await setMinutesAgo(30);
  const fashionShots = await push('fashion-shots', 24);
  await push('fashion-shots', 31);
  const interiors = await push('interiors', 60);
  await setMinutesAgo(28);
  await push('fashion-shots', 36);
  const jewellery = await push('jewellery', 12);
  await orchestrator.call('POST', `/api/datasets/${jewellery.id}/pin`, { pinned: true });
  await orchestrator.call('POST', `/api/datasets/${fashionShots.id}/pin`, { pinned: true });
  await setMinutesAgo(26);
  await submit('sd35-lora-interiors', {
    config: { instance_data_dir: '/home/ada/pictures/interiors' },
    data: [{ path: '/home/ada/pictures/interiors', version: interiors.version }],
    worker_labels: { gpu_type: 'b200*' },
    gpu_count: 8,
    gpu_vram_gb: 180,
  });
  await setMinutesAgo(17);
  const icons = await startJob('sd15-lora-icons', { worker_labels: { team: 'icons' } });
  await submit('sdxl-lora-jewellery', {
    worker_labels: { team: 'portraits' },
    gpu_count: 2,
    priority: 'low',
  });
  await setMinutesAgo(9);
  const urgent = await submit('ltxvideo-lora-trailer', {
    worker_labels: { gpu_type: 'h100*' },
    gpu_count: 8,
    priority: 'urgent',
  });
  await orchestrator.call('POST', `/api/queue/${urgent}/top`);
  await setMinutesAgo(6);
  await submit('hunyuan-video-full', { worker_labels: { gpu_type: 'h100*' }, requires_approval: true });
  await setMinutesAgo(4);
  await fleet.drains('daedalus', 'New power supply on Friday');
  await setMinutesAgo(0);
  await flux.reports({ step: 6_240, total_steps: 16_000, epoch: 3, loss: 0.1134, steps_per_second: 1.09 });
  await dance.reports({ step: 3_105, total_steps: 9_000, epoch: 5, loss: 0.1475, steps_per_second: 1.18 });
  await fashion.reports({ step: 1_872, total_steps: 3_000, epoch: 9, loss: 0.0967, steps_per_second: 1.42 });
  await again.reports({ step: 2_210, total_steps: 4_000, epoch: 4, loss: 0.1206, steps_per_second: 1.13 });
  await icons.reports({ step: 1_340, total_steps: 1_500, epoch: 11, loss: 0.0842, steps_per_second: 1.31 });
  await fleet.waitForHeartbeats();
  return fleet;
}

function createFleet(orchestrator: Orchestrator) {
  const { call } = orchestrator;
  const workers = new Map<string, string>();
  const jobs = new Map<string, string>();
  const datasets = new Map<string, string>();
  const trainings = new Map<string, Training>();
  const agents = new Map<string, { readonly worker: SimulatedWorker; readonly left: Promise<number> }>();

  const join = async (name: MachineName): Promise<void> => {
    const { labels } = machines[name];
    const { worker_id: id, token } = await call('POST', '/api/admin/workers', { name, labels });
    workers.set(name, String(id));
    const worker = startWorker(orchestrator.url, name, String(token), trainings);
    agents.set(name, { worker, left: worker.run() });
    await waitFor(`/api/admin/workers/${String(id)}`, { status: 'idle' });
  };
  const waitFor = (path: string, part: Record<string, unknown>): Promise<void> =>
    expect.poll(() => call('GET', path), { intervals: [50], timeout: 20_000 }).toMatchObject(part);
  const submit = async (config: string, needs: object): Promise<string> => {
    const id = await orchestrator.submit({ config_name: config, config: {}, target: 'worker', ...needs });
    jobs.set(config, id);
    return id;
  };
  /** Submits a job, and waits until a worker runs it. */
  const startJob = async (config: string, needs: object) => {
    const path = `/api/queue/${await submit(config, needs)}`;
    const training = (): Training => {
      const found = trainings.get(config);
      if (found === undefined) throw new Error(`no worker trains ${config}`);
      return found;
    };
    const runs = (): Promise<void> => waitFor(path, { status: 'running' });
    const reports = async (progress: Progress): Promise<void> => {
      training().report(progress);
      await waitFor(path, { progress: { step: progress.step } });
    };
    await runs();
    return {
      runs,
      reports,
      async completes({ step, loss }: { readonly step: number; readonly loss: number }): Promise<void> {
        await reports({ step, total_steps: step, loss, learning_rate: 1e-6 });
        training().end({ code: 0, signal: null, tail: '' });
        await waitFor(path, { status: 'completed' });
      },
      async runsOutOfMemory(step: number): Promise<void> {
        await reports({ step, total_steps: 4_000, loss: 0.1893 });
        training().end({ code: 1, signal: null, tail: outOfMemory });
        await waitFor(path, { status: 'failed' });
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
    startJob,
    /** Sets the server's clock to so many minutes ago, for the commands that follow. */
    setMinutesAgo: (minutes: number): Promise<void> => orchestrator.shiftClock(-minutes * 60_000),
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
        const connected = list.filter(({ status }) => status !== 'offline');
        return Math.min(...connected.map(({ last_heartbeat: at }) => Date.parse(at)));
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

const outOfMemory = [
  'Traceback (most recent call last):',
  '  File "simpletuner/train.py", line 41, in <module>',
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total capacity of 23.65 GiB of which 412.00 MiB is free.',
].join('\n');

function startWorker(
  url: string,
  name: MachineName,
  token: string,
  trainings: Map<string, Training>,
): SimulatedWorker {
  const { accelerator, gpu, gpus: count, vramGb, ...more } = machines[name];
  let running = 0;
  let beats = 0;
  return createSimulatedWorker({
    url,
    token,
    name,
    persistent: true,
    accelerator,
    gpus: Array.from({ length: count }, (_, index) => ({
      index,
      name: gpu,
      vramGb,
      ...('driver' in more ? { driver: more.driver } : {}),
    })),
    trainer({ configName }, report, link) {
      if (configName === 'kolors-lora-fashion') for (const each of trackerLinks) link(each);
      const exited = Promise.withResolvers<Exit>();
      running += 1;
      const end = (exit: Exit): void => {
        running = 0;
        exited.resolve(exit);
      };
      trainings.set(configName, { report, end });
      return { exited: exited.promise, stop: () => end({ code: null, signal: 'SIGTERM', tail: '' }) };
    },
    telemetry() {
      if (accelerator !== 'cuda') return {};
      beats += 1;
      const isBusy = running > 0;
      const utilization = isBusy ? (busyUtilization[beats % busyUtilization.length] ?? 0) : 0;
      const usedGb = vramGb * (isBusy ? 0.86 : 0.01);
      return {
        gpu_utilization: utilization,
        vram_used_gb: Number((count * usedGb).toFixed(1)),
        gpu_figures: Array.from({ length: count }, (_, index) => ({
          index,
          utilization,
          vram_used_gb: Number(usedGb.toFixed(2)),
          temperature_c: isBusy ? 63 + index : 34,
          power_w: isBusy ? 318 + 3 * index : 52,
          power_limit_w: 400,
        })),
      };
    },
    random: Math.random,
    onConnection: () => undefined,
    log: () => undefined,
  });
}
