/**
 * What a probe says about this machine's GPUs: the list, and the few figures that registration sends
 * (docs/internals/worker-contract.md, section 1: `gpu_count, gpu_name, gpu_vram_gb, accelerator_type` and `gpu_info`).
 */

export type Accelerator = 'cuda' | 'rocm' | 'mps' | 'cpu';

export interface Gpu {
  /** The number that nvidia-smi or rocm-smi gives it, in PCI order; 0 for Apple's only one. */
  readonly index: number;
  readonly name: string;
  /** GiB, rounded to whole ones: 81559 MiB is 80, 24564 is 24, and 46068 (an L40S) 45. Undefined: not reported. */
  readonly vramGb?: number;
  readonly driver?: string;
  readonly uuid?: string;
}

export type GpuProblemCode =
  | 'driver_unreachable'
  | 'driver_mismatch'
  | 'gpu_lost'
  | 'no_devices'
  | 'probe_timeout'
  | 'probe_failed'
  | 'memory_unknown'
  | 'mig_selection'
  | 'bad_selection';

/** Something a person should look at. `message` says what was seen and what to do; GPUs may be usable all the same. */
export interface GpuProblem {
  readonly code: GpuProblemCode;
  readonly message: string;
}

export interface GpuReport {
  /** What the usable GPUs are driven by; `cpu` when there is none, a broken driver included. */
  readonly accelerator: Accelerator;
  /** The usable GPUs only. */
  readonly gpus: readonly Gpu[];
  readonly count: number;
  /** The common name, or for a mixed box e.g. `2x A100-SXM4-80GB + 1x RTX 3090`. Undefined without a GPU. */
  readonly name?: string;
  /** Of the SMALLEST GPU, since that is what a job may rely on wherever it lands; undefined when one is unknown. */
  readonly vramGb?: number;
  readonly driver?: string;
  readonly problem?: GpuProblem;
}

/** What the protocol takes. */
const MAX_NAME_LENGTH = 200;

/** MiB, as nvidia-smi counts, to the whole GB of the data sheet. */
export function gbFromMib(mib: number): number {
  return Math.round(mib / 1024);
}

function compactName(gpus: readonly Gpu[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { name } of gpus) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = [...counts.keys()];
  if (names.length < 2) return names[0];
  return names
    .map(name => `${counts.get(name)}x ${name.replace(/^(NVIDIA|AMD) (GeForce )?/, '')}`)
    .join(' + ');
}

function smallestVramGb(gpus: readonly Gpu[]): number | undefined {
  const known = gpus.flatMap(gpu => gpu.vramGb ?? []);
  return known.length === gpus.length && known.length > 0 ? Math.min(...known) : undefined;
}

/** Makes the report of a list of GPUs. An empty list makes a CPU worker of the machine, with the problem kept. */
export function makeReport(accelerator: Accelerator, gpus: readonly Gpu[], problem?: GpuProblem): GpuReport {
  return {
    accelerator: gpus.length > 0 ? accelerator : 'cpu',
    gpus,
    count: gpus.length,
    name: compactName(gpus)?.slice(0, MAX_NAME_LENGTH),
    vramGb: smallestVramGb(gpus),
    driver: gpus[0]?.driver,
    problem,
  };
}
