import type { Accelerator } from '../../agent/simulated/simulated-worker.ts';
import type { Random } from './random.ts';
import type { Labels } from '../../protocol/text.ts';

/** A typical machine, with names as in the output of `nvidia-smi` and similar tools. */
export interface Machine {
  readonly gpuType: string;
  readonly gpuName: string;
  readonly accelerator: Accelerator;
  readonly driver?: string;
  readonly gpuCount: number;
  readonly vramGb: number;
  readonly powerLimitW: number;
  /** Steps per second of a typical training, relative to one RTX 4090. */
  readonly speed: number;
}

const rtx4090 = {
  gpuType: 'rtx4090',
  gpuName: 'NVIDIA GeForce RTX 4090',
  accelerator: 'cuda',
  driver: '570.133.20',
  vramGb: 24,
  powerLimitW: 450,
} as const;
const a100 = {
  gpuType: 'a100-80gb',
  gpuName: 'NVIDIA A100-SXM4-80GB',
  accelerator: 'cuda',
  driver: '550.144.03',
  vramGb: 80,
  powerLimitW: 400,
} as const;
const h100 = {
  gpuType: 'h100-80gb',
  gpuName: 'NVIDIA H100 80GB HBM3',
  accelerator: 'cuda',
  driver: '550.144.03',
  vramGb: 80,
  powerLimitW: 700,
} as const;

/** Workers get these machines in turn, so that even a small fleet has different machines. */
const machines: readonly [Machine, ...Machine[]] = [
  { ...rtx4090, gpuCount: 1, speed: 1 },
  { ...a100, gpuCount: 4, speed: 1.6 },
  { ...rtx4090, gpuCount: 2, speed: 1 },
  { ...h100, gpuCount: 8, speed: 3.1 },
  {
    gpuType: 'rx7900xtx',
    gpuName: 'AMD Radeon RX 7900 XTX',
    accelerator: 'rocm',
    driver: '6.12.12',
    gpuCount: 1,
    vramGb: 24,
    powerLimitW: 355,
    speed: 0.6,
  },
  { ...rtx4090, gpuCount: 1, speed: 1 },
  { ...a100, gpuCount: 8, speed: 1.6 },
  {
    gpuType: 'm2-ultra',
    gpuName: 'Apple M2 Ultra',
    accelerator: 'mps',
    gpuCount: 1,
    vramGb: 64,
    powerLimitW: 215,
    speed: 0.3,
  },
  { ...rtx4090, gpuCount: 2, speed: 1 },
  { ...rtx4090, gpuCount: 1, speed: 1 },
];

/** The label of the demo's workers. The demo's jobs require it, so that no real worker runs them. */
export const fleetLabel = { fleet: 'demo' } as const;

const regions = ['eu-west', 'eu-north', 'us-east', 'us-west'] as const;

export interface WorkerPlan {
  readonly name: string;
  readonly machine: Machine;
  readonly labels: Labels;
  readonly isEphemeral: boolean;
  /** True if the worker sometimes loses its connection, to simulate a network failure. */
  readonly isFlaky: boolean;
}

export interface FleetShape {
  readonly workers: number;
  readonly ephemeral: number;
  readonly flaky: number;
}

/** Plans the workers of a fleet. Skips `usedNames`, the names of existing workers. */
export function planFleet(shape: FleetShape, random: Random, usedNames: ReadonlySet<string>): WorkerPlan[] {
  const plans: WorkerPlan[] = [];
  for (let number = 1; plans.length < shape.workers; number++) {
    const name = `demo-${String(number).padStart(2, '0')}`;
    if (usedNames.has(name)) continue;
    const index = plans.length;
    const machine = machines[index % machines.length] ?? machines[0];
    plans.push({
      name,
      machine,
      labels: {
        ...fleetLabel,
        gpu_type: machine.gpuType,
        region: random.pick(regions),
      },
      isEphemeral: index >= shape.workers - shape.ephemeral,
      isFlaky: index < shape.flaky,
    });
  }
  return plans;
}

/** Returns true if a demo created this worker. */
export const isOfDemo = ({ name, labels }: { readonly name: string; readonly labels: Labels }): boolean =>
  /^demo-\d{2,}$/.test(name) && labels['fleet'] === fleetLabel.fleet;
