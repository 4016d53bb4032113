/** Reads the figures of each GPU from the vendors' tools, and converts them to points of a job's curves. */

import type { MetricPoint } from '../../protocol/metrics-api.ts';
import { type CommandResult, type RunCommand, runFirst } from '../process/run-command.ts';
import { asObject, type JsonObject, parseObject, textAt } from './json.ts';
import { figure, queryNvidia, splitRows } from './nvidia.ts';
import type { GpuReport } from './report.ts';
import { cardsOf, rocmCommands } from './rocm.ts';

/** A value is undefined when the GPU does not report it. */
export interface GpuFigures {
  readonly index: number;
  /** 0 to 100. */
  readonly utilization: number | undefined;
  /** MiB in use. */
  readonly memory_mb: number | undefined;
  readonly temperature_c: number | undefined;
  readonly power_w: number | undefined;
}

/** The fields of nvidia-smi that `nvidiaFigures` reads, in this order. */
export const nvidiaFields = ['index', 'utilization.gpu', 'memory.used', 'temperature.gpu', 'power.draw'];
const rocmArgs = ['--showuse', '--showmeminfo', 'vram', '--showtemp', '--showpower', '--json'];
const bytesPerMib = 1024 * 1024;

/** Reads rows of nvidia-smi that start with `nvidiaFields`. */
export const nvidiaFigures = (rows: readonly (readonly string[])[]): readonly GpuFigures[] =>
  rows.map(row => {
    const [index, utilization, memory_mb, temperature_c, power_w] = row.map(figure);
    return { index: Number(index), utilization, memory_mb, temperature_c, power_w };
  });

export const queryRocm = (run: RunCommand): Promise<CommandResult> => runFirst(run, rocmCommands, rocmArgs);

/**
 * Reads the output of `queryRocm`. Uses the maximum of a GPU's temperature sensors (edge, junction, memory), because
 * their names differ between versions.
 */
export function rocmFigures(stdout: string): readonly GpuFigures[] {
  return cardsOf(parseObject(stdout) ?? {}).map((card, index) => {
    const bytes = figureAt(card, /^VRAM Total Used Memory \(B\)$/);
    return {
      index,
      utilization: figureAt(card, /^GPU use \(%\)$/),
      memory_mb: bytes === undefined ? undefined : Math.round(bytes / bytesPerMib),
      temperature_c: figureAt(card, /^Temperature \(Sensor .{1,40}\) \(C\)$/),
      power_w: figureAt(card, /Power \(W\)$/),
    };
  });
}

/** Returns the highest value among the keys that match. */
function figureAt(card: JsonObject, name: RegExp): number | undefined {
  const values = Object.keys(card)
    .filter(key => name.test(key) && !key.startsWith('Max '))
    .flatMap(key => figure(textAt(asObject(card), key)?.trim()) ?? []);
  return values.length === 0 ? undefined : Math.max(...values);
}

const queries = {
  cuda: (run: RunCommand) => queryNvidia(run, nvidiaFields),
  rocm: queryRocm,
};

/**
 * The maximum number of GPUs with curves. The number of curves per job is limited, and the trainer's curves are more
 * important.
 */
const maxGpus = 8;

/**
 * Returns values for the curves of a job: `gpu.0.utilization`, `gpu.0.memory_mb`, ... Runs the vendor's tool once, if there
 * is one for the accelerator. Rejects when the tool fails, so that the caller can wait longer before the next query.
 */
export async function probeFigures(deps: {
  readonly run: RunCommand;
  readonly report: GpuReport;
}): Promise<MetricPoint['values']> {
  const { accelerator, gpus } = deps.report;
  if (accelerator !== 'cuda' && accelerator !== 'rocm') return {};
  const result: CommandResult = await queries[accelerator](deps.run);
  if (result.kind !== 'exited') throw new Error(`the GPU metrics could not be queried: ${result.kind}`);
  const chosen = new Set(gpus.slice(0, maxGpus).map(({ index }) => index));
  const figuresByGpu =
    accelerator === 'cuda' ? nvidiaFigures(splitRows(result.stdout).rows) : rocmFigures(result.stdout);
  return Object.fromEntries(
    figuresByGpu
      .filter(({ index }) => chosen.has(index))
      .flatMap(({ index, ...figures }) =>
        Object.entries(figures).flatMap(([name, value]) =>
          value === undefined ? [] : [[`gpu.${index}.${name}`, value] as const],
        ),
      ),
  );
}
