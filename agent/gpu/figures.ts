/** Queries GPU metrics from the vendors' tools: for heartbeats, and for the curves of a running job. */

import type { MetricPoint } from '../../protocol/metrics-api.ts';
import { type CommandResult, type RunCommand, runFirst } from '../process/run-command.ts';
import { asObject, parseObject, textAt, type JsonObject } from './json.ts';
import { figure, isLost, queryNvidia, readProblem, splitRows } from './nvidia.ts';
import { commandProblem, type GpuProblem, type GpuReport } from './report.ts';
import { cardsOf, rocmCommands } from './rocm.ts';
import type { Card, Cards } from './conditions.ts';

/** A value is undefined when the GPU does not report it. */
interface GpuUtilisation {
  readonly index: number;
  /** 0 to 100. */
  readonly utilizationPercent?: number;
  /** GiB, to two places. */
  readonly vramUsedGb?: number;
  readonly temperatureC?: number;
  readonly powerW?: number;
}

interface UtilisationReport {
  readonly gpus: readonly GpuUtilisation[];
  /** A problem that this query shows. It lets the panel show a GPU that is lost during a job. */
  readonly problem?: GpuProblem;
  /** Whether the GPUs are present and healthy; absent when nothing was queried. */
  readonly cards?: Cards;
}

const utilisationFields = [
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
    // On a healthy GPU, mostly in laptops, a measured value may be an error. The UUID, a constant, never is.
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
    message: `nvidia-smi lists no GPU (${talk.slice(0, 80) || 'no output'}): check dmesg`,
  };
}

/**
 * Queries the utilization of the GPUs of `report`, for heartbeats. Only NVIDIA's GPUs report values. Resolves within 10 s.
 * After the problem `probe_timeout`, the caller should query less often, because each query of a driver that hangs leaves
 * a process that cannot be killed.
 */
export async function probeUtilisation(deps: {
  readonly run: RunCommand;
  readonly report: GpuReport;
}): Promise<UtilisationReport> {
  if (deps.report.accelerator !== 'cuda') return { gpus: [] };
  const result = await queryNvidia(deps.run, utilisationFields);
  if (result.kind !== 'exited') {
    const problem = commandProblem('nvidia-smi', result);
    const message = problem?.message ?? 'nvidia-smi is missing: install the driver again';
    return { gpus: [], problem, cards: { kind: 'silent', message } };
  }
  const { rows, otherText } = splitRows(`${result.stdout}\n${result.stderr}`);
  const selected = new Set(deps.report.gpus.map(gpu => gpu.index));
  const gpus = rows.map(utilisationOf).filter(gpu => selected.has(gpu.index));
  const problem = readProblem(rows, otherText);
  return { gpus, problem, cards: cardsFrom(rows, otherText, problem) };
}

type Values = MetricPoint['values'];

interface GpuFigures {
  readonly index: number;
  /** 0 to 100. */
  readonly utilization: number | undefined;
  /** MiB in use. */
  readonly memory_mb: number | undefined;
  readonly temperature_c: number | undefined;
  readonly power_w: number | undefined;
}

/**
 * The maximum number of GPUs with curves. The number of curves per job is limited, and those of the trainer are more
 * important.
 */
const maxGpus = 8;
const figureFields = ['index', 'utilization.gpu', 'memory.used', 'temperature.gpu', 'power.draw'];
const rocmArgs = ['--showuse', '--showmeminfo', 'vram', '--showtemp', '--showpower', '--json'];
const bytesOfMib = 1024 * 1024;

function nvidiaFigures(stdout: string): readonly GpuFigures[] {
  return splitRows(stdout).rows.map(row => {
    const [index, utilization, memory_mb, temperature_c, power_w] = row.map(figure);
    return { index: Number(index), utilization, memory_mb, temperature_c, power_w };
  });
}

/** Uses the maximum of a GPU's temperature sensors (edge, junction, memory), because their names differ between versions. */
function rocmFigures(stdout: string): readonly GpuFigures[] {
  return cardsOf(parseObject(stdout) ?? {}).map((card, index) => {
    const bytes = figureAt(card, /^VRAM Total Used Memory \(B\)$/);
    return {
      index,
      utilization: figureAt(card, /^GPU use \(%\)$/),
      memory_mb: bytes === undefined ? undefined : Math.round(bytes / bytesOfMib),
      temperature_c: figureAt(card, /^Temperature \(Sensor .{1,40}\) \(C\)$/),
      power_w: figureAt(card, /Power \(W\)$/),
    };
  });
}

/** Returns the highest value among the keys that match. */
function figureAt(card: JsonObject, name: RegExp): number | undefined {
  const found = Object.keys(card)
    .filter(key => name.test(key) && !key.startsWith('Max '))
    .flatMap(key => figure(textAt(asObject(card), key)?.trim()) ?? []);
  return found.length === 0 ? undefined : Math.max(...found);
}

const queries = {
  cuda: (run: RunCommand) => queryNvidia(run, figureFields),
  rocm: (run: RunCommand) => runFirst(run, rocmCommands, rocmArgs),
};

/**
 * Returns values for the curves of a job: `gpu.0.utilization`, `gpu.0.memory_mb`, ... Runs the vendor's tool once, if there
 * is one for the accelerator. Rejects when the tool fails, so that the caller can wait longer before the next query.
 */
export async function probeFigures(deps: {
  readonly run: RunCommand;
  readonly report: GpuReport;
}): Promise<Values> {
  const { accelerator, gpus } = deps.report;
  if (accelerator !== 'cuda' && accelerator !== 'rocm') return {};
  const result: CommandResult = await queries[accelerator](deps.run);
  if (result.kind !== 'exited') throw new Error(`the GPU metrics could not be queried: ${result.kind}`);
  const chosen = new Set(gpus.slice(0, maxGpus).map(({ index }) => index));
  const found = accelerator === 'cuda' ? nvidiaFigures(result.stdout) : rocmFigures(result.stdout);
  return Object.fromEntries(
    found
      .filter(({ index }) => chosen.has(index))
      .flatMap(({ index, ...figures }) =>
        Object.entries(figures).flatMap(([name, value]) =>
          value === undefined ? [] : [[`gpu.${index}.${name}`, value] as const],
        ),
      ),
  );
}
