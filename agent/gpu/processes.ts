/**
 * Lists the processes that compute on the GPUs, with the vendors' tools. Processes that only draw a desktop are not
 * included.
 */

import type { Card, Cards } from './conditions.ts';
import { runFirst, type CommandResult, type RunCommand } from '../process/run-command.ts';
import { asObject, parseObject, textAt } from './json.ts';
import { figure, listNvidiaProcesses } from './nvidia.ts';
import type { Gpu, GpuReport } from './report.ts';
import { cardsOf, rocmCommands } from './rocm.ts';

/** A process on one of the chosen GPUs. */
export interface GpuProcess {
  readonly gpu: number;
  readonly pid: number;
  readonly memoryMib: number;
}

export interface ProcessScan {
  readonly processes: readonly GpuProcess[];
  /** Present when the same probe also lists the GPUs. */
  readonly cards?: Cards;
}

/** Returns null when the tool failed. Returns no processes for accelerators without a tool. */
export async function probeProcesses(deps: {
  readonly run: RunCommand;
  readonly report: GpuReport;
}): Promise<ProcessScan | null> {
  const { accelerator, gpus } = deps.report;
  if (accelerator === 'cuda') {
    const result = await listNvidiaProcesses(deps.run);
    return succeeded(result) ? { processes: nvidiaProcesses(result.stdout, gpus) } : null;
  }
  if (accelerator !== 'rocm') return { processes: [] };
  const result = await runFirst(deps.run, rocmCommands, ['--showmeminfo', 'vram', '--showpids', '--json']);
  return succeeded(result) ? toRocmScan(result.stdout, gpus) : null;
}

const succeeded = (result: CommandResult): result is CommandResult & { readonly kind: 'exited' } =>
  result.kind === 'exited' && result.code === 0;

/**
 * Parses lines such as `4711, GPU-5d5b..., 9216`. Unknown memory (`[N/A]`, on Windows and WSL) counts as 0, so that such
 * a process is never reported.
 */
function nvidiaProcesses(stdout: string, chosen: readonly Gpu[]): readonly GpuProcess[] {
  const processes = stdout.split('\n').flatMap(line => {
    const [pid, uuid, memory] = line.split(',').map(field => field.trim());
    const gpu = chosen.find(card => card.uuid !== undefined && card.uuid === uuid);
    const pidNumber = figure(pid);
    return gpu === undefined || pidNumber === undefined
      ? []
      : [{ gpu: gpu.index, pid: pidNumber, memoryMib: figure(memory) ?? 0 }];
  });
  // A process with several contexts has a line for each.
  const groups = Map.groupBy(processes, ({ gpu, pid }) => `${gpu} ${pid}`);
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [{ ...first, memoryMib: others.reduce((sum, { memoryMib }) => sum + memoryMib, first.memoryMib) }],
  );
}

const bytesPerMib = 1024 * 1024;

/**
 * Parses `"system": {"PID4711": "python3, 1, 9663676416, 0, 0"}`: name, number of GPUs, memory in bytes, and two unused
 * fields. The output does not show which GPU a process uses. So processes count only when this worker has all GPUs, and
 * then count for its first GPU.
 */
function toRocmScan(stdout: string, chosen: readonly Gpu[]): ProcessScan {
  const smi = parseObject(stdout) ?? {};
  const cards = cardsOf(smi).map(
    (_card, index): Card => ({ index, uuid: undefined, isLost: false, uncorrected: undefined }),
  );
  if (cards.length === 0) return { processes: [] };
  const [first] = chosen;
  const system = asObject(smi['system']);
  const hasAll = first !== undefined && chosen.length === cards.length;
  const processes = Object.keys(hasAll ? (system ?? {}) : {}).flatMap(key => {
    const [, pid] = /^PID ?(\d{1,10})$/.exec(key) ?? [];
    const fields = (textAt(system, key) ?? '').split(',').map(field => field.trim());
    const [count, bytes] = [figure(fields.at(-4)), figure(fields.at(-3))];
    return pid === undefined || first === undefined || !count
      ? []
      : [{ gpu: first.index, pid: Number(pid), memoryMib: (bytes ?? 0) / bytesPerMib }];
  });
  return { processes, cards: { kind: 'listed', cards } };
}
