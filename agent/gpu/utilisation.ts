/** Queries the figures of the GPUs for heartbeats. A query also shows whether the GPUs are present and healthy. */

import type { RunCommand } from '../process/run-command.ts';
import type { Card, Cards } from './conditions.ts';
import { type GpuFigures, nvidiaFields, nvidiaFigures, queryRocm, rocmFigures } from './figures.ts';
import { figure, isLost, queryNvidia, readProblem, splitRows } from './nvidia.ts';
import { commandProblem, type GpuProblem, type GpuReport } from './report.ts';

interface GpuUtilisation extends GpuFigures {
  /** Watts that the GPU may use; undefined when it does not report a limit. */
  readonly power_limit_w?: number;
}

export interface UtilisationReport {
  readonly gpus: readonly GpuUtilisation[];
  /** A problem that this query shows, so that the panel can show a GPU that is lost during a job. */
  readonly problem?: GpuProblem;
  /** Whether the GPUs are present and healthy; absent when nothing was queried. */
  readonly cards?: Cards;
}

interface ProbeDeps {
  readonly run: RunCommand;
  readonly report: GpuReport;
}

const cardFields = ['uuid', 'ecc.errors.uncorrected.volatile.total', 'power.limit'];
/** Column numbers of `cardFields`, which follow the fields of the figures. */
const [uuidAt, errorsAt, limitAt] = [5, 6, 7];

/**
 * Queries the figures of the GPUs of `report`, for heartbeats. Returns none for GPUs that are not from NVIDIA or AMD.
 * Resolves within 10 s. After the problem `probe_timeout`, the caller should query less often: if the driver hangs, each
 * query leaves a process that cannot be killed.
 */
export async function probeUtilisation(deps: ProbeDeps): Promise<UtilisationReport> {
  const { gpus, ...others } = await probeAll(deps);
  const selected = new Set(deps.report.gpus.map(gpu => gpu.index));
  return { gpus: gpus.filter(gpu => selected.has(gpu.index)), ...others };
}

async function probeAll({ run, report }: ProbeDeps): Promise<UtilisationReport> {
  if (report.accelerator === 'cuda') return probeNvidia(run);
  if (report.accelerator !== 'rocm') return { gpus: [] };
  const result = await queryRocm(run);
  return { gpus: result.kind === 'exited' ? rocmFigures(result.stdout) : [] };
}

async function probeNvidia(run: RunCommand): Promise<UtilisationReport> {
  const result = await queryNvidia(run, [...nvidiaFields, ...cardFields]);
  if (result.kind !== 'exited') {
    const problem = commandProblem('nvidia-smi', result);
    const message = problem?.message ?? 'nvidia-smi is missing: install the driver again';
    return { gpus: [], problem, cards: { kind: 'silent', message } };
  }
  const { rows, otherText } = splitRows(`${result.stdout}\n${result.stderr}`);
  const gpus = nvidiaFigures(rows).map((gpu, n) => ({ ...gpu, power_limit_w: figure(rows[n]?.[limitAt]) }));
  const problem = readProblem(rows, otherText);
  return { gpus, problem, cards: cardsFrom(rows, otherText, problem) };
}

function cardOf(row: readonly string[]): Card {
  const uuid = row[uuidAt];
  return {
    index: Number(row[0]),
    uuid: uuid?.startsWith('GPU-') === true ? uuid : undefined,
    // Healthy laptop GPUs may print an error instead of a measured value, but never instead of the UUID.
    isLost: isLost(row) || uuid === '[Unknown Error]' || uuid === 'ERR!',
    uncorrected: figure(row[errorsAt]),
  };
}

function cardsFrom(rows: readonly string[][], otherText: string, problem: GpuProblem | undefined): Cards {
  if (rows.length > 0) return { kind: 'listed', cards: rows.map(cardOf) };
  if (problem !== undefined) return { kind: 'broken', message: problem.message };
  if (otherText.includes('is not a valid field')) return { kind: 'unknown' };
  return {
    kind: 'silent',
    message: `nvidia-smi lists no GPU (${otherText.slice(0, 80) || 'no output'}): check dmesg`,
  };
}
