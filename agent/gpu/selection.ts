/** Selects the GPUs that this worker may use, by `--gpus` and by the environment variables of the drivers. */

import { makeReport, type Accelerator, type Gpu, type GpuProblem, type GpuReport } from './report.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type GpuSelection =
  | { readonly ok: true; readonly report: GpuReport }
  | { readonly ok: false; readonly missing: readonly number[]; readonly message: string };

/** HIP reads CUDA's variable when its own is unset. MPS and the CPU have none. */
const VARIABLES: Readonly<Record<Accelerator, readonly string[]>> = {
  cuda: ['CUDA_VISIBLE_DEVICES'],
  rocm: ['HIP_VISIBLE_DEVICES', 'CUDA_VISIBLE_DEVICES'],
  mps: [],
  cpu: [],
};

/** Whether a worker uses all GPUs of its machine, some, or none, according to its owner's settings. */
export function choiceOf(
  indices: readonly number[] | null,
  environment: Environment,
): 'all' | 'some' | 'none' {
  const visible = environment['CUDA_VISIBLE_DEVICES'] ?? environment['HIP_VISIBLE_DEVICES'];
  if (visible === '' || visible === '-1') return 'none';
  return indices === null && visible === undefined ? 'all' : 'some';
}

/**
 * Selects the GPUs of `--gpus 0,1`, in this order. Fails when a GPU is missing on this machine, and names the missing
 * indices.
 */
export function selectGpus(report: GpuReport, indices: readonly number[]): GpuSelection {
  const selected = [...new Set(indices)];
  const gpus = selected.flatMap(index => report.gpus.find(gpu => gpu.index === index) ?? []);
  const missing = selected.filter(index => !gpus.some(gpu => gpu.index === index));
  if (selected.length > 0 && missing.length === 0) {
    return { ok: true, report: makeReport(report.accelerator, gpus, report.problem) };
  }
  const has = report.gpus.map(gpu => `${gpu.index} (${gpu.name})`).join(', ');
  const asked =
    missing.length > 0 ? `There is no usable GPU ${missing.join(', ')} here` : '--gpus names no GPU';
  const rest = has === '' ? 'no usable GPU was found' : `usable are ${has}`;
  return {
    ok: false,
    missing,
    message: `${asked}: ${rest}. ${report.problem?.message ?? 'Correct --gpus.'}`,
  };
}

/** Finds the GPU of one entry of the variable: an index, a UUID, or a unique prefix of a UUID. */
function findGpu(gpus: readonly Gpu[], entry: string): Gpu | undefined {
  if (/^\d{1,4}$/.test(entry)) return gpus.find(gpu => gpu.index === Number(entry));
  if (!entry.startsWith('GPU-')) return undefined;
  const fitting = gpus.filter(gpu => gpu.uuid?.startsWith(entry));
  return fitting.length === 1 ? fitting[0] : undefined;
}

/**
 * Applies CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES) as the driver does. `''` and `-1` mean no GPU. An entry that matches
 * no GPU hides the GPUs of all later entries (CUDA C++ Programming Guide, "CUDA Environment Variables"). Indices are in
 * PCI order, which `trainerGpuEnvironment` also sets for the trainer.
 */
export function narrowByEnvironment(report: GpuReport, environment: Environment): GpuReport {
  const variable = VARIABLES[report.accelerator].find(name => environment[name] !== undefined);
  const value = variable === undefined ? undefined : environment[variable];
  if (value === undefined) return report;
  const entries = value.split(',').map(entry => entry.trim());
  if (entries.some(entry => entry.startsWith('MIG-')))
    return makeReport(report.accelerator, report.gpus, migProblem(value));
  const entriesAsGpus = entries.map(entry => findGpu(report.gpus, entry));
  const valid = entriesAsGpus.includes(undefined)
    ? entriesAsGpus.slice(0, entriesAsGpus.indexOf(undefined))
    : entriesAsGpus;
  const gpus = [...new Set(valid)].filter(gpu => gpu !== undefined);
  const stray = entries[valid.length];
  const problem: GpuProblem | undefined =
    stray === undefined || stray === '' || stray === '-1'
      ? undefined
      : {
          code: 'bad_selection',
          message: `${variable}=${value} names GPU ${stray}, which this machine does not have. The driver hides it and all GPUs after it: correct or unset the variable.`,
        };
  return makeReport(report.accelerator, gpus, report.problem ?? problem);
}

function migProblem(value: string): GpuProblem {
  return {
    code: 'mig_selection',
    message: `CUDA_VISIBLE_DEVICES=${value} names a slice of a GPU (MIG). Trainings get the variable unchanged, but this worker reports whole GPUs: require no more memory in jobs than the slice has.`,
  };
}

/**
 * Returns the environment variables that limit a trainer to the GPUs of `report`, or to the `positions` in the report
 * that the trainer's job requests. Skips positions that no longer exist. Also sets the order: by default, CUDA numbers
 * the fastest GPU first, while nvidia-smi and `--gpus` number by PCI slot.
 */
export function trainerGpuEnvironment(
  report: GpuReport,
  positions: readonly number[] | null = null,
): Readonly<Record<string, string>> {
  const jobGpus = (positions ?? []).flatMap(position => report.gpus[position] ?? []);
  const indices = (jobGpus.length === 0 ? report.gpus : jobGpus).map(gpu => gpu.index).join(',');
  if (report.problem?.code === 'mig_selection') return {};
  switch (report.accelerator) {
    case 'cuda':
      return { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: indices };
    case 'rocm':
      return { HIP_VISIBLE_DEVICES: indices };
    case 'mps':
    case 'cpu':
      return {};
  }
}
