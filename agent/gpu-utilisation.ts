/** How busy the GPUs are, for heartbeats (NVIDIA only; other accelerators answer with no figures). */

import { commandProblem } from './gpu-command.ts';
import type { RunCommand } from './gpu-command.ts';
import { figure, queryNvidia, readProblem, splitRows } from './gpu-nvidia.ts';
import type { GpuProblem, GpuReport } from './gpu-report.ts';

/** Each figure is undefined where the GPU does not report it. */
export interface GpuUtilisation {
  readonly index: number;
  /** 0 to 100. */
  readonly utilizationPercent?: number;
  /** GiB, to two places. */
  readonly vramUsedGb?: number;
  readonly temperatureC?: number;
  readonly powerW?: number;
}

export interface UtilisationReport {
  readonly gpus: readonly GpuUtilisation[];
  /** Told here as well, so that a GPU that is lost in the middle of a training shows in the panel. */
  readonly problem?: GpuProblem;
}

const FIELDS = ['index', 'utilization.gpu', 'memory.used', 'temperature.gpu', 'power.draw'];

function utilisationOf(row: readonly string[]): GpuUtilisation {
  const [index, utilizationPercent, usedMib, temperatureC, powerW] = row.map(figure);
  return {
    index: Number(index),
    utilizationPercent,
    vramUsedGb: usedMib === undefined ? undefined : Math.round((usedMib / 1024) * 100) / 100,
    temperatureC,
    powerW,
  };
}

/**
 * The figures of the GPUs of `report`, at most 10 s late. After `probe_timeout` a caller should ask less often:
 * each question to a hanging driver leaves a process behind that nobody can kill.
 */
export async function probeUtilisation(deps: {
  readonly run: RunCommand;
  readonly report: GpuReport;
}): Promise<UtilisationReport> {
  if (deps.report.accelerator !== 'cuda') return { gpus: [] };
  const result = await queryNvidia(deps.run, FIELDS);
  if (result.kind !== 'exited') return { gpus: [], problem: commandProblem('nvidia-smi', result) };
  const { rows, talk } = splitRows(`${result.stdout}\n${result.stderr}`);
  const selected = new Set(deps.report.gpus.map(gpu => gpu.index));
  const gpus = rows.map(utilisationOf).filter(gpu => selected.has(gpu.index));
  return { gpus, problem: readProblem(rows, talk) };
}
