/** The machines of the fleet in the documentation's screenshots. */
import type { SimulatedWorkerDeps, Telemetry } from '../../agent/simulated/simulated-worker.ts';

const nvidia = { accelerator: 'cuda', driver: '570.133.20' } as const;
const rtx4090 = { ...nvidia, gpu: 'NVIDIA GeForce RTX 4090', vramGb: 24 } as const;
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
  calypso: { ...rtx4090, gpus: 2, labels: { gpu_type: 'rtx4090', team: 'portraits' } },
  daedalus: { ...rtx4090, gpus: 1, labels: { gpu_type: 'rtx4090', team: 'icons' } },
  echo: {
    accelerator: 'rocm',
    driver: '6.12.12',
    gpu: 'AMD Radeon RX 7900 XTX',
    gpus: 1,
    vramGb: 24,
    labels: { gpu_type: 'rx7900xtx', site: 'berlin' },
  },
  fenrir: { ...rtx4090, gpus: 1, labels: { gpu_type: 'rtx4090', team: 'brand' } },
  gaia: { accelerator: 'mps', gpu: 'Apple M2 Ultra', gpus: 1, vramGb: 64, labels: { gpu_type: 'm2-ultra' } },
  juno: { ...rtx4090, gpus: 1, labels: { gpu_type: 'rtx4090', team: 'brand' } },
} as const;
export type MachineName = keyof typeof machines;

export const labelsOf = (name: MachineName): Readonly<Record<string, string>> => machines[name].labels;

/** Power that a GPU uses, in watts. */
export const watts = { busy: 318, idle: 52 } as const;

export function hardwareOf(name: MachineName): Pick<SimulatedWorkerDeps, 'accelerator' | 'gpus'> {
  const { accelerator, gpu, gpus: count, vramGb, ...more } = machines[name];
  const driver = 'driver' in more ? { driver: more.driver } : {};
  const gpus = Array.from({ length: count }, (_, index) => ({ index, name: gpu, vramGb, ...driver }));
  return { accelerator, gpus };
}

/** GPU utilization of a busy GPU in percent, one value for each heartbeat. */
const busyUtilization = [98, 96, 99, 93, 97, 99, 91, 98, 95, 99] as const;

/** The problem that the agent of `echo` reports. */
const missingGpu = {
  gpu: 0,
  kind: 'missing',
  detail: 'it no longer responds: reboot this machine',
} as const;

/** Returns the telemetry of one heartbeat; only NVIDIA GPUs report figures. `number`: the number of the heartbeat. */
export function telemetryOf(name: MachineName, isBusy: boolean, number: number): Telemetry {
  const { accelerator, gpus: count, vramGb } = machines[name];
  if (name === 'echo') return { gpu_troubles: [missingGpu] };
  if (accelerator !== 'cuda') return {};
  const utilization = isBusy ? (busyUtilization[number % busyUtilization.length] ?? 0) : 0;
  const usedGb = vramGb * (isBusy ? 0.86 : 0.01);
  return {
    gpu_utilization: utilization,
    vram_used_gb: Number((count * usedGb).toFixed(1)),
    gpu_figures: Array.from({ length: count }, (_, index) => ({
      index,
      utilization,
      vram_used_gb: Number(usedGb.toFixed(2)),
      temperature_c: isBusy ? 63 + index : 34,
      power_w: isBusy ? watts.busy + 3 * index : watts.idle,
      power_limit_w: 400,
    })),
  };
}
