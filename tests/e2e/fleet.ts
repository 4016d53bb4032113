/**
 * A realistic fleet with the jobs of some days, some ended and some pending. A training advances to a given step and
 * then stays there.
 */
import { createCrew } from './fleet-crew.ts';
import { addEnergyOfAttempts } from './fleet-energy.ts';
import type { Orchestrator } from './panel.ts';

export interface ShownFleet {
  /** Ids of the workers by name. */
  readonly workers: ReadonlyMap<string, string>;
  /** Ids of the jobs by config name. */
  readonly jobs: ReadonlyMap<string, string>;
  /** Id of the newest version of each dataset, by its name. */
  readonly datasets: ReadonlyMap<string, string>;
  leave(): Promise<void>;
}

type Crew = ReturnType<typeof createCrew>;

/** Heartbeat timeout in seconds. A short one makes workers send heartbeats often. */
export const silenceS = 24;

const brand = { worker_labels: { team: 'brand' } } as const;
const icons = { worker_labels: { team: 'icons' } } as const;
const portraits = { worker_labels: { team: 'portraits' }, gpu_count: 2 } as const;
const a100 = { worker_labels: { gpu_type: 'a100*' }, gpu_count: 4 } as const;
const h100 = { worker_labels: { gpu_type: 'h100*' }, gpu_count: 8 } as const;

/** The clock of the orchestrator starts this many milliseconds ago. */
export const fleetAgeMs = 4 * 24 * 3_600_000;

/** Simulates four days in seconds, so the orchestrator must have a clock of its own. */
export async function showFleet(orchestrator: Orchestrator): Promise<ShownFleet> {
  const crew = createCrew(orchestrator);
  const { call } = orchestrator;
  await call('PATCH', '/api/settings', { electricity: { price_per_kwh: 0.31, currency: 'EUR' } });
  for (const name of ['atlas', 'boreas', 'calypso', 'daedalus', 'echo', 'gaia', 'juno'] as const)
    await crew.join(name);
  await showEarlierDays(crew);
  await showMorning(crew);
  await showLastHours(crew, orchestrator);
  addEnergyOfAttempts(orchestrator.dataDir, Date.now());
  await crew.waitForHeartbeats();
  return crew;
}

/** A sweep over the learning rate with a clear best run, and failures with two causes. */
async function showEarlierDays({ work, ago }: Crew): Promise<void> {
  let minutes = 3 * 24 * 60;
  const later = (by: number): Promise<void> => ago((minutes -= by));
  for (const [name, rate, loss] of [
    ['flux-lora-product-slow', 5e-5, 0.1184],
    ['flux-lora-product-fast', 4e-4, 0.1329],
    ['flux-lora-product', 1e-4, 0.0921],
  ] as const) {
    await later(20);
    const run = await work(name, {
      ...portraits,
      steps: 4_000,
      config: { learning_rate: rate },
      group: 'product-rate',
    });
    await run.draws(1_000, 2_000, 4_000);
    await later(140);
    await run.completes(loss);
  }
  for (const [name, step] of [
    ['flux-lora-packaging', 38],
    ['flux-lora-packaging-r64', 12],
  ] as const) {
    await later(300);
    const run = await work(name, { ...portraits, steps: 4_000, config: { lora_rank: 64 } });
    await later(9);
    await run.fails({ step, loss: 0.2417 }, outOfMemory);
  }
  await later(200);
  const linen = await work('kolors-lora-linen', { ...brand, steps: 1_500 });
  await later(3);
  await linen.fails({ step: 1, loss: 0.2511 }, noData('linen'));
}

async function showMorning({ work, ago }: Crew): Promise<void> {
  await ago(540);
  const watercolour = await work('sd15-lora-watercolour', { ...brand, steps: 3_000 });
  await watercolour.draws(750, 1_500, 3_000);
  await ago(512);
  await watercolour.completes(0.0713);
  await ago(505);
  const linen = await work('kolors-lora-linen-2', { ...brand, steps: 1_500 });
  await ago(503);
  await linen.fails({ step: 1, loss: 0.2498 }, noData('linen'));
  await ago(470);
  const faces = await work('sdxl-lora-portraits', { ...portraits, steps: 4_000 });
  await ago(461);
  await faces.fails({ step: 412, loss: 0.1893 }, outOfMemory);
  const motion = await work('ltxvideo-lora-motion', { ...h100, steps: 8_000 });
  const edits = await work('qwen-image-edit-lora', { ...a100, steps: 6_000 });
  await edits.draws(1_500, 3_000, 6_000);
  await ago(371);
  const banner = await work('flux-lora-banner', { ...portraits, steps: 4_000 });
  await ago(362);
  await banner.fails({ step: 57, loss: 0.2204 }, outOfMemory);
  await ago(180);
  await edits.completes(0.0584);
  await ago(135);
  await motion.completes(0.1337);
}

async function showLastHours(crew: Crew, { call }: Orchestrator): Promise<void> {
  const { work, submit, push, ago } = crew;
  await ago(96);
  const flux = await work('flux-full-finetune', { ...a100, steps: 16_000 });
  await ago(66);
  const coarse = await work('kolors-lora-textures-r8', {
    ...brand,
    steps: 1_500,
    config: { lora_rank: 8 },
    group: 'textures-rank',
  });
  await coarse.draws(375, 750, 1_500);
  await ago(58);
  await coarse.completes(0.1043);
  await submit('flux-full-finetune-v2', { ...a100, steps: 12_000, gpu_vram_gb: 80 });
  await ago(52);
  const textures = await work('kolors-lora-textures', { ...brand, steps: 1_500, group: 'textures-rank' });
  await textures.draws(375, 750, 1_500);
  await ago(50);
  await crew.join('fenrir');
  const fashion = await work('kolors-lora-fashion', { ...brand, steps: 3_000 });
  await fashion.is({ step: 640, loss: 0.2211, steps_per_second: 1.4 });
  await ago(44);
  const dance = await work('ltxvideo-lora-dance', { ...h100, steps: 9_000 });
  await textures.completes(0.0911);
  await ago(41);
  await crew.leaves('fenrir');
  await fashion.runs();
  await ago(33);
  const again = await work('sdxl-lora-portraits-int8', { ...portraits, steps: 4_000 });
  await ago(30);
  const fashionShots = await push('fashion-shots', 24);
  await push('fashion-shots', 31);
  const interiors = await push('interiors', 60);
  await ago(28);
  await push('fashion-shots', 36);
  const jewellery = await push('jewellery', 12);
  await call('POST', `/api/datasets/${jewellery.id}/pin`, { pinned: true });
  await call('POST', `/api/datasets/${fashionShots.id}/pin`, { pinned: true });
  await ago(26);
  await submit('sd35-lora-interiors', {
    steps: 5_000,
    config: { instance_data_dir: '/home/ada/pictures/interiors' },
    data: [{ path: '/home/ada/pictures/interiors', version: interiors.version }],
    worker_labels: { gpu_type: 'b200*' },
    gpu_count: 8,
    gpu_vram_gb: 180,
  });
  await ago(17);
  const badges = await work('sd15-lora-icons', { ...icons, steps: 1_500 });
  await submit('sdxl-lora-jewellery', { ...portraits, steps: 3_000, priority: 'low' });
  await flux.draws(4_000);
  await fashion.draws(750, 1_500);
  await again.draws(1_000, 2_000);
  await badges.draws(375, 750, 1_125);
  await ago(9);
  const urgent = await submit('ltxvideo-lora-trailer', { ...h100, steps: 6_000, priority: 'urgent' });
  await call('POST', `/api/queue/${urgent}/top`);
  await ago(6);
  await submit('hunyuan-video-full', {
    steps: 10_000,
    worker_labels: { gpu_type: 'h100*' },
    requires_approval: true,
  });
  await ago(4);
  await crew.drains('daedalus', 'New power supply on Friday');
  await ago(0);
  await flux.is({ step: 6_240, epoch: 3, loss: 0.1134, steps_per_second: 1.09 });
  await dance.is({ step: 3_105, epoch: 5, loss: 0.1475, steps_per_second: 1.18 });
  await fashion.is({ step: 1_872, epoch: 9, loss: 0.0967, steps_per_second: 1.42 });
  await again.is({ step: 2_210, epoch: 4, loss: 0.1206, steps_per_second: 1.13 });
  await badges.is({ step: 1_340, epoch: 11, loss: 0.0842, steps_per_second: 1.31 });
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
