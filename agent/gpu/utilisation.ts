/** Queries how busy the GPUs are, for heartbeats (NVIDIA only; other accelerators report no values). */

import { commandProblem, type GpuProblem, type GpuReport } from './report.ts';
import type { RunCommand } from '../process/run-command.ts';
import type { Card, Cards } from './conditions.ts';
import { figure, isLost, queryNvidia, readProblem, splitRows } from './nvidia.ts';

/** A value is undefined when the GPU does not report it. */
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
  /** Reported here as well, so that the panel shows a GPU that is lost during a job. */
  readonly problem?: GpuProblem;
  /** Whether the GPUs are present and healthy; absent when nothing was queried. */
  readonly cards?: Cards;
}

const FIELDS = [
  'index',
  'utilization.gpu',
  'memory.used',
  'temperature.gpu',
  'power.draw',
  'uuid',
  'ecc.errors.uncorrected.volatile.total',
];

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

function cardOf(row: readonly string[]): Card {
  const uuid = row[5];
  return {
    index: Number(row[0]),
    uuid: uuid?.startsWith('GPU-') === true ? uuid : undefined,
    // On a healthy GPU, mostly in laptops, a measured value may be an error. Its UUID, which is fixed, is not.
    isLost: isLost(row) || uuid === '[Unknown Error]' || uuid === 'ERR!',
    uncorrected: figure(row[6]),
  };
}

function cardsFrom(rows: readonly string[][], talk: string, problem: GpuProblem | undefined): Cards {
  if (rows.length > 0) return { kind: 'listed', cards: rows.map(cardOf) };
  if (problem !== undefined) return { kind: 'broken', message: problem.message };
  if (talk.includes('is not a valid field')) return { kind: 'unknown' };
  return {
    kind: 'silent',
    message: `nvidia-smi lists no GPU (${talk.slice(0, 80) || 'no output'}): look at dmesg`,
  };
}

/**
 * Queries the GPUs of `report`. Resolves within 10 s. After `probe_timeout`, a caller should query less often: each
 * query of a driver that hangs leaves a process that cannot be killed.
 */
export async function probeUtilisation(deps: {
  readonly run: RunCommand;
  readonly report: GpuReport;
}): Promise<UtilisationReport> {
  if (deps.report.accelerator !== 'cuda') return { gpus: [] };
  const result = await queryNvidia(deps.run, FIELDS);
  if (result.kind !== 'exited') {
    const problem = commandProblem('nvidia-smi', result);
    const message = problem?.message ?? 'nvidia-smi is not here any more: install the driver again';
    return { gpus: [], problem, cards: { kind: 'silent', message } };
  }
  const { rows, talk } = splitRows(`${result.stdout}\n${result.stderr}`);
  const selected = new Set(deps.report.gpus.map(gpu => gpu.index));
  const gpus = rows.map(utilisationOf).filter(gpu => selected.has(gpu.index));
  const problem = readProblem(rows, talk);
  return { gpus, problem, cards: cardsFrom(rows, talk, problem) };
}
