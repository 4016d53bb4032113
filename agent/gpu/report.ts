/**
 * The result of a probe of this machine's GPUs: the list, and the summary that registration sends (`gpu_info` in
 * docs/internals/worker-contract.md, section 1).
 */

import type { CommandResult } from '../process/run-command.ts';

export type Accelerator = 'cuda' | 'rocm' | 'mps' | 'cpu';

export interface Gpu {
  /** The GPU's index in nvidia-smi or rocm-smi, in PCI order; 0 for Apple's single GPU. */
  readonly index: number;
  readonly name: string;
  /** Whole GiB, rounded: 81559 MiB is 80, 24564 is 24, and 46068 (an L40S) is 45. Undefined when it is not reported. */
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

/** A problem that the rig's owner can solve. `message` says what to do. Some GPUs may still be usable. */
export interface GpuProblem {
  readonly code: GpuProblemCode;
  readonly message: string;
}

export interface GpuReport {
  /** The platform of the usable GPUs; `cpu` when there are none, for example with a broken driver. */
  readonly accelerator: Accelerator;
  /** The usable GPUs only. */
  readonly gpus: readonly Gpu[];
  readonly count: number;
  /** The name that all GPUs share, or a list such as `2x A100-SXM4-80GB + 1x RTX 3090`. Undefined without a GPU. */
  readonly name?: string;
  /**
   * Memory of the SMALLEST GPU in GiB, because a job can rely on that amount on each GPU. Undefined when the memory of a
   * GPU is unknown.
   */
  readonly vramGb?: number;
  readonly driver?: string;
  readonly problem?: GpuProblem;
}

/** The protocol's limit, in characters. */
const MAX_NAME_LENGTH = 200;

/** Converts MiB, the unit of nvidia-smi, to whole GiB, as in data sheets. */
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
  const sizes = gpus.flatMap(gpu => gpu.vramGb ?? []);
  return sizes.length === gpus.length && sizes.length > 0 ? Math.min(...sizes) : undefined;
}

/** Makes the report for a list of GPUs. For an empty list, the accelerator is `cpu`. The problem is kept in each case. */
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

/** Returns why a command did not run to its end; undefined when it did, or when it is not installed. */
export function commandProblem(program: string, result: CommandResult): GpuProblem | undefined {
  switch (result.kind) {
    case 'timed_out':
      return {
        code: 'probe_timeout',
        message: `${program} did not answer within ${result.timeoutMs / 1000} s: the driver may hang. Run it by hand, check dmesg, and reboot if it hangs, too.`,
      };
    case 'failed':
      return {
        code: 'probe_failed',
        message: `${program} could not be used: ${result.message.slice(0, 300)}. Run it by hand to see why.`,
      };
    case 'missing':
    case 'exited':
      return undefined;
  }
}
