/** Probes NVIDIA GPUs with nvidia-smi (field names: `nvidia-smi --help-query-gpu`; exit codes: its man page). */

import { runFirst, type CommandResult, type RunCommand } from '../process/run-command.ts';
import {
  commandProblem,
  gbFromMib,
  makeReport,
  type Gpu,
  type GpuProblem,
  type GpuProblemCode,
  type GpuReport,
} from './report.ts';

/** The second command is for WSL, whose folder is not in the PATH of a service. */
const COMMANDS = ['nvidia-smi', '/usr/lib/wsl/lib/nvidia-smi'];
const FORMAT = '--format=csv,noheader,nounits';

/** Error messages of nvidia-smi, which it usually prints on stdout. The first match determines the problem. */
const ERROR_MESSAGES: readonly {
  readonly pattern: string;
  readonly code: GpuProblemCode;
  readonly remedy: string;
}[] = [
  {
    pattern: "couldn't communicate with the NVIDIA driver",
    code: 'driver_unreachable',
    remedy:
      'Load the driver (modprobe nvidia; dmesg shows why it fails). After a kernel update, reinstall it.',
  },
  {
    pattern: 'Driver/library version mismatch',
    code: 'driver_mismatch',
    remedy: 'The driver was updated, but the old kernel module is still loaded: reboot this machine.',
  },
  {
    pattern: 'No devices were found',
    code: 'no_devices',
    remedy:
      'The driver is loaded but finds no GPU: check dmesg for NVRM messages, the power cables and the slot.',
  },
  {
    pattern: 'GPU is lost',
    code: 'gpu_lost',
    remedy: 'A GPU fell off the bus: reboot this machine, then check its power, cooling and slot.',
  },
  {
    pattern: 'Unable to determine the device handle',
    code: 'gpu_lost',
    remedy: 'A GPU no longer answers: reboot this machine, then check its power, cooling and slot.',
  },
  {
    pattern: 'Failed to initialize NVML',
    code: 'driver_unreachable',
    remedy: 'In a container, restart it. Else check the driver (modprobe nvidia, dmesg), or reboot.',
  },
  {
    pattern: "couldn't find libnvidia-ml.so",
    code: 'driver_unreachable',
    remedy: 'Install the libraries of the NVIDIA driver in the same version as the kernel module.',
  },
];

/**
 * The values in the fields of a lost GPU. Other values in brackets ([N/A], [Not Supported], ...) mean that a value is
 * unknown (for [Unknown Error], see `gpuOf`).
 */
const LOST = ['[GPU is lost]', '[GPU requires reset]'];

export function queryNvidia(run: RunCommand, fields: readonly string[]): Promise<CommandResult> {
  return runFirst(run, COMMANDS, [`--query-gpu=${fields.join(',')}`, FORMAT]);
}

/** Lists the processes that compute on the GPUs, but not those that only draw a desktop. */
export const listNvidiaProcesses = (run: RunCommand): Promise<CommandResult> =>
  runFirst(run, COMMANDS, ['--query-compute-apps=pid,gpu_uuid,used_memory', FORMAT]);

/** Splits nvidia-smi's output into the rows of `--query-gpu`, which start with the GPU's index, and all other text. */
export function splitRows(stdout: string): {
  readonly rows: readonly string[][];
  readonly otherText: string;
} {
  const lines = stdout.split('\n').map(line => line.trim());
  const isRow = (line: string): boolean => /^\d{1,4},/.test(line);
  return {
    rows: lines.filter(isRow).map(line => line.split(',').map(field => field.trim())),
    otherText: lines.filter(line => line !== '' && !isRow(line)).join(' '),
  };
}

/** Parses a number; undefined for [N/A], [Not Supported], [Insufficient Permissions] and the like. */
export function figure(field: string | undefined): number | undefined {
  return field !== undefined && /^\d{1,12}(\.\d{1,6})?$/.test(field) ? Number(field) : undefined;
}

function textOf(field: string | undefined): string | undefined {
  return field === undefined || field === '' || field.startsWith('[') || field === 'N/A'
    ? undefined
    : field.slice(0, 200);
}

/**
 * Parses `index, name, memory.total, driver_version, uuid` from both ends, because a name may contain commas. Returns
 * undefined for a lost GPU, which nvidia-smi still lists.
 */
function gpuOf(row: readonly string[]): Gpu | undefined {
  const [memory, driver, uuid] = row.slice(-3);
  const name = row.slice(1, -3).join(', ');
  // [Unknown Error] as name or memory means a lost GPU. `LOST` does not contain this text, because a healthy laptop GPU can
  // report it as its power in other queries.
  if (name === '' || isLost(row) || name === '[Unknown Error]' || memory === '[Unknown Error]')
    return undefined;
  const mib = figure(memory);
  return {
    index: Number(row[0]),
    name: textOf(name) ?? 'NVIDIA GPU',
    vramGb: mib === undefined ? undefined : gbFromMib(mib),
    driver: textOf(driver),
    uuid: textOf(uuid),
  };
}

/** Whether a row of any query belongs to a lost GPU. */
export function isLost(row: readonly string[]): boolean {
  return row.some(field => LOST.includes(field));
}

/** Returns the problem for GPUs that nvidia-smi lists but that do not respond; undefined when there are none. */
function lostProblem(rows: readonly string[][]): GpuProblem | undefined {
  if (rows.length === 0) return undefined;
  return {
    code: 'gpu_lost',
    message: `GPU ${rows.map(row => row[0]).join(', ')} does not respond and is not used: reboot this machine, then check its power, cooling and slot.`,
  };
}

function readErrorMessage(otherText: string): GpuProblem | undefined {
  const match = ERROR_MESSAGES.find(({ pattern }) => otherText.includes(pattern));
  if (match === undefined) return undefined;
  return { code: match.code, message: `nvidia-smi says: ${otherText.slice(0, 300)} ${match.remedy}` };
}

/** Returns the problem that the output of a query shows: a driver failure, or lost GPUs. */
export function readProblem(rows: readonly string[][], otherText: string): GpuProblem | undefined {
  return readErrorMessage(otherText) ?? lostProblem(rows.filter(isLost));
}

function memoryProblem(gpu: Gpu | undefined): GpuProblem | undefined {
  if (gpu === undefined) return undefined;
  return {
    code: 'memory_unknown',
    message: `nvidia-smi does not report the memory of GPU ${gpu.index} (${gpu.name}), so this worker gets no jobs that require an amount of memory.`,
  };
}

/**
 * Finds the NVIDIA GPUs of this machine. The report is empty without nvidia-smi. With a broken driver, the report
 * contains a problem.
 */
export async function probeNvidia(run: RunCommand): Promise<GpuReport> {
  const result = await queryNvidia(run, ['index', 'name', 'memory.total', 'driver_version', 'uuid']);
  if (result.kind !== 'exited') return makeReport('cuda', [], commandProblem('nvidia-smi', result));
  const { rows, otherText } = splitRows(`${result.stdout}\n${result.stderr}`);
  const gpus = rows.flatMap(row => gpuOf(row) ?? []);
  const problem =
    readErrorMessage(otherText) ??
    lostProblem(rows.filter(row => gpuOf(row) === undefined)) ??
    memoryProblem(gpus.find(gpu => gpu.vramGb === undefined));
  if (rows.length > 0 || problem !== undefined) return makeReport('cuda', gpus, problem);
  const excerpt = otherText.slice(0, 300) || 'no output';
  return makeReport('cuda', [], {
    code: 'probe_failed',
    message: `nvidia-smi listed no GPU (exit code ${result.code}: ${excerpt}). Run it by hand to see why.`,
  });
}
