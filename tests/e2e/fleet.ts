/**
 * A realistic fleet for the documentation's screenshots, with ended, running and pending jobs of four days. Running jobs advance
 * to a given step and stay there.
 */
import { createFleetControls } from './fleet-controls.ts';
import { addEnergyOfAttempts } from './fleet-energy.ts';
import type { Orchestrator } from './panel.ts';

export interface FleetInPictures {
  /** Ids of the workers by name. */
  readonly workers: ReadonlyMap<string, string>;
  /** Ids of the jobs by config name. */
  readonly jobs: ReadonlyMap<string, string>;
  /** Id of the newest version of each dataset, by its name. */
  readonly datasets: ReadonlyMap<string, string>;
  stopAllWorkers(): Promise<void>;
}

type FleetControls = ReturnType<typeof createFleetControls>;

/** A short timeout makes workers send heartbeats often. */
export const heartbeatTimeoutS = 24;

const brand = { worker_labels: { team: 'brand' } } as const;
const icons = { worker_labels: { team: 'icons' } } as const;
const portraits = { worker_labels: { team: 'portraits' }, gpu_count: 2 } as const;
const a100 = { worker_labels: { gpu_type: 'a100*' }, gpu_count: 4 } as const;
const h100 = { worker_labels: { gpu_type: 'h100*' }, gpu_count: 8 } as const;

/** The orchestrator's clock must start this many milliseconds in the past. */
export const fleetAgeMs = 4 * 24 * 3_600_000;

/** Simulates four days within seconds. The orchestrator needs a clock that tests can shift (`clockShiftMs`). */
export async function createFleet(orchestrator: Orchestrator): Promise<FleetInPictures> {
  const fleet = createFleetControls(orchestrator);
  const { call } = orchestrator;
  await call('PATCH', '/api/settings', { electricity: { price_per_kwh: 0.31, currency: 'EUR' } });
  for (const name of ['atlas', 'boreas', 'calypso', 'daedalus', 'echo', 'gaia', 'juno'] as const)
    await fleet.join(name);
  await simulateEarlierDays(fleet);
  await simulateLastMorning(fleet);
  await simulateLastHours(fleet, orchestrator);
  addEnergyOfAttempts(orchestrator.dataDir, Date.now());
  await fleet.waitForHeartbeats();
  return fleet;
}

/** Runs a sweep over the learning rate with a clear best run, and jobs that fail for two different reasons. */
async function simulateEarlierDays({ startJob, setClock }: FleetControls): Promise<void> {
  let minutesAgo = 3 * 24 * 60;
  const advanceClock = (minutes: number): Promise<void> => {
    minutesAgo -= minutes;
    return setClock(minutesAgo);
  };
  for (const [name, rate, loss] of [
    ['flux-lora-product-slow', 5e-5, 0.1184],
    ['flux-lora-product-fast', 4e-4, 0.1329],
    ['flux-lora-product', 1e-4, 0.0921],
  ] as const) {
    await advanceClock(20);
    const run = await startJob(name, {
      ...portraits,
      steps: 4_000,
      config: { learning_rate: rate },
      group: 'product-rate',
    });
    await run.uploadSamples(1_000, 2_000, 4_000);
    await advanceClock(140);
    await run.complete(loss);
  }
  for (const [name, step] of [
    ['flux-lora-packaging', 38],
    ['flux-lora-packaging-r64', 12],
  ] as const) {
    await advanceClock(300);
    const run = await startJob(name, { ...portraits, steps: 4_000, config: { lora_rank: 64 } });
    await advanceClock(9);
    await run.fail({ step, loss: 0.2417 }, outOfMemory);
  }
  await advanceClock(200);
  const linen = await startJob('kolors-lora-linen', { ...brand, steps: 1_500 });
  await advanceClock(3);
  await linen.fail({ step: 1, loss: 0.2511 }, noData('linen'));
}

/** Runs jobs from nine hours to two hours before now. All of them end. Times are minutes before now. */
async function simulateLastMorning({ startJob, setClock }: FleetControls): Promise<void> {
  await setClock(540);
  const watercolour = await startJob('sd15-lora-watercolour', { ...brand, steps: 3_000 });
  await watercolour.uploadSamples(750, 1_500, 3_000);
  await setClock(512);
  await watercolour.complete(0.0713);
  await setClock(505);
  const linen = await startJob('kolors-lora-linen-2', { ...brand, steps: 1_500 });
  await setClock(503);
  await linen.fail({ step: 1, loss: 0.2498 }, noData('linen'));
  await setClock(470);
  const faces = await startJob('sdxl-lora-portraits', { ...portraits, steps: 4_000 });
  await setClock(461);
  await faces.fail({ step: 412, loss: 0.1893 }, outOfMemory);
  const motion = await startJob('ltxvideo-lora-motion', { ...h100, steps: 8_000 });
  const edits = await startJob('qwen-image-edit-lora', { ...a100, steps: 6_000 });
  await edits.uploadSamples(1_500, 3_000, 6_000);
  await setClock(371);
  const banner = await startJob('flux-lora-banner', { ...portraits, steps: 4_000 });
  await setClock(362);
  await banner.fail({ step: 57, loss: 0.2204 }, outOfMemory);
  await setClock(180);
  await edits.complete(0.0584);
  await setClock(135);
  await motion.complete(0.1337);
}

/** Simulates the last 96 minutes. Most of these jobs are still running or pending at the end. Times are minutes before now. */
async function simulateLastHours(fleet: FleetControls, { call }: Orchestrator): Promise<void> {
  const { startJob, submit, push, setClock } = fleet;
  await setClock(96);
  const flux = await startJob('flux-full-finetune', { ...a100, steps: 16_000 });
  await setClock(66);
  const coarse = await startJob('kolors-lora-textures-r8', {
    ...brand,
    steps: 1_500,
    config: { lora_rank: 8 },
    group: 'textures-rank',
  });
  await coarse.uploadSamples(375, 750, 1_500);
  await setClock(58);
  await coarse.complete(0.1043);
  await submit('flux-full-finetune-v2', { ...a100, steps: 12_000, gpu_vram_gb: 80 });
  await setClock(52);
  const textures = await startJob('kolors-lora-textures', { ...brand, steps: 1_500, group: 'textures-rank' });
  await textures.uploadSamples(375, 750, 1_500);
  await setClock(50);
  await fleet.join('fenrir');
  const fashion = await startJob('kolors-lora-fashion', { ...brand, steps: 3_000 });
  await fashion.advanceTo({ step: 640, loss: 0.2211, steps_per_second: 1.4 });
  await setClock(44);
  const dance = await startJob('ltxvideo-lora-dance', { ...h100, steps: 9_000 });
  await textures.complete(0.0911);
  await setClock(41);
  await fleet.stopWorker('fenrir');
  await fashion.waitUntilRunning();
  await setClock(33);
  const portraitsRun = await startJob('sdxl-lora-portraits-int8', { ...portraits, steps: 4_000 });
  await setClock(30);
  const fashionShots = await push('fashion-shots', 24);
  await push('fashion-shots', 31);
  const interiors = await push('interiors', 60);
  await setClock(28);
  await push('fashion-shots', 36);
  const jewellery = await push('jewellery', 12);
  await call('POST', `/api/datasets/${jewellery.id}/pin`, { pinned: true });
  await call('POST', `/api/datasets/${fashionShots.id}/pin`, { pinned: true });
  await setClock(26);
  await submit('sd35-lora-interiors', {
    steps: 5_000,
    config: { instance_data_dir: '/home/ada/pictures/interiors' },
    data: [{ path: '/home/ada/pictures/interiors', version: interiors.version }],
    worker_labels: { gpu_type: 'b200*' },
    gpu_count: 8,
    gpu_vram_gb: 180,
  });
  await setClock(17);
  const badges = await startJob('sd15-lora-icons', { ...icons, steps: 1_500 });
  await submit('sdxl-lora-jewellery', { ...portraits, steps: 3_000, priority: 'low' });
  await flux.uploadSamples(4_000);
  await fashion.uploadSamples(750, 1_500);
  await portraitsRun.uploadSamples(1_000, 2_000);
  await badges.uploadSamples(375, 750, 1_125);
  await setClock(9);
  const urgent = await submit('ltxvideo-lora-trailer', { ...h100, steps: 6_000, priority: 'urgent' });
  await call('POST', `/api/queue/${urgent}/top`);
  await setClock(6);
  await submit('hunyuan-video-full', {
    steps: 10_000,
    worker_labels: { gpu_type: 'h100*' },
    requires_approval: true,
  });
  await setClock(4);
  await fleet.drain('daedalus', 'New power supply on Friday');
  await setClock(0);
  await flux.advanceTo({ step: 6_240, epoch: 3, loss: 0.1134, steps_per_second: 1.09 });
  await dance.advanceTo({ step: 3_105, epoch: 5, loss: 0.1475, steps_per_second: 1.18 });
  await fashion.advanceTo({ step: 1_872, epoch: 9, loss: 0.0967, steps_per_second: 1.42 });
  await portraitsRun.advanceTo({ step: 2_210, epoch: 4, loss: 0.1206, steps_per_second: 1.13 });
  await badges.advanceTo({ step: 1_340, epoch: 11, loss: 0.0842, steps_per_second: 1.31 });
}

const outOfMemory = [
  'Traceback (most recent call last):',
  '  File "simpletuner/train.py", line 41, in <module>',
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total capacity of 23.65 GiB of which 412.00 MiB is free.',
].join('\n');

const noData = (name: string): string =>
  [
    'Traceback (most recent call last):',
    '  File "simpletuner/helpers/data_backend/factory.py", line 1204, in configure_multi_databackend',
    `FileNotFoundError: Instance data directory not found: /datasets/${name}`,
  ].join('\n');
