/** GPU metrics of a running job, as values for its curves: `gpu.0.utilization`, `gpu.0.memory_mb`, ... */

import type { MetricPoint } from '../../protocol/metrics-api.ts';
import { runFirst, type CommandResult, type RunCommand } from '../process/run-command.ts';
import { asObject, parseObject, textAt, type JsonObject } from './json.ts';
import { figure, queryNvidia, splitRows } from './nvidia.ts';
import type { GpuReport } from './report.ts';
import { cardsOf, rocmCommands } from './rocm.ts';

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
 * A job has a bounded number of keys, and the trainer's take precedence. On a machine with more GPUs, only the first
 * are shown.
 */
const maxGpus = 8;
const nvidiaFields = ['index', 'utilization.gpu', 'memory.used', 'temperature.gpu', 'power.draw'];
const rocmArgs = ['--showuse', '--showmeminfo', 'vram', '--showtemp', '--showpower', '--json'];
const bytesOfMib = 1024 * 1024;

function nvidiaFigures(stdout: string): readonly GpuFigures[] {
  return splitRows(stdout).rows.map(row => {
    const [index, utilization, memory_mb, temperature_c, power_w] = row.map(figure);
    return { index: Number(index), utilization, memory_mb, temperature_c, power_w };
  });
}

/** Reports the hottest sensor when there are several: edge, junction, memory. Their names differ between versions. */
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

/** The highest value among the keys that match. */
function figureAt(card: JsonObject, name: RegExp): number | undefined {
  const found = Object.keys(card)
    .filter(key => name.test(key) && !key.startsWith('Max '))
    .flatMap(key => figure(textAt(asObject(card), key)?.trim()) ?? []);
  return found.length === 0 ? undefined : Math.max(...found);
}

const ask = {
  cuda: (run: RunCommand) => queryNvidia(run, nvidiaFields),
  rocm: (run: RunCommand) => runFirst(run, rocmCommands, rocmArgs),
};

/**
 * Queries the vendor's tool once. Rejects when it does not answer, so that the caller can wait longer before the next
 * query. Runs nothing for accelerators without such a tool.
 */
export async function probeFigures(deps: {
  readonly run: RunCommand;
  readonly report: GpuReport;
}): Promise<Values> {
  const { accelerator, gpus } = deps.report;
  if (accelerator !== 'cuda' && accelerator !== 'rocm') return {};
  const result: CommandResult = await ask[accelerator](deps.run);
  if (result.kind !== 'exited')
    throw new Error(`the figures of the GPUs could not be asked for: ${result.kind}`);
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
