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

/** The second path is used by WSL, and is not in the PATH of a service. */
const COMMANDS = ['nvidia-smi', '/usr/lib/wsl/lib/nvidia-smi'];
const FORMAT = '--format=csv,noheader,nounits';

/** Error messages of nvidia-smi, which it usually prints on stdout. The first match determines the problem. */
const COMPLAINTS: readonly {
  readonly pattern: string;
  readonly code: GpuProblemCode;
  readonly remedy: string;
}[] = [
  {
    pattern: "couldn't communicate with the NVIDIA driver",
    code: 'driver_unreachable',
    remedy:
      'Load the driver (modprobe nvidia, then dmesg for its reason); after a kernel update reinstall it.',
  },
  {
    pattern: 'Driver/library version mismatch',
    code: 'driver_mismatch',
    remedy: 'The driver was updated while the old kernel module is still loaded: reboot this machine.',
  },
  {
    pattern: 'No devices were found',
    code: 'no_devices',
    remedy:
      'The driver is there but sees no GPU: check dmesg for NVRM messages, the power cables and the slot.',
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
    remedy: 'Restart the container if this is one, else check the driver (modprobe nvidia, dmesg) or reboot.',
  },
  {
    pattern: "couldn't find libnvidia-ml.so",
    code: 'driver_unreachable',
    remedy: "Install the NVIDIA driver's libraries, of the version of the kernel module.",
  },
];

/**
 * Field values of a GPU that is gone. Other values in brackets ([N/A], [Not Supported], ...) mean that a value is
 * unknown.
 */
const LOST = ['[GPU is lost]', '[GPU requires reset]'];

export function queryNvidia(run: RunCommand, fields: readonly string[]): Promise<CommandResult> {
  return runFirst(run, COMMANDS, [`--query-gpu=${fields.join(',')}`, FORMAT]);
}

/** Lists the processes that compute. Those that only draw a desktop are not included. */
export const listNvidiaProcesses = (run: RunCommand): Promise<CommandResult> =>
  runFirst(run, COMMANDS, ['--query-compute-apps=pid,gpu_uuid,used_memory', FORMAT]);

/** Splits nvidia-smi's output into the rows of `--query-gpu`, which start with the GPU's index, and all other text. */
export function splitRows(stdout: string): { readonly rows: readonly string[][]; readonly talk: string } {
  const lines = stdout.split('\n').map(line => line.trim());
  const isRow = (line: string): boolean => /^\d{1,4},/.test(line);
  return {
    rows: lines.filter(isRow).map(line => line.split(',').map(field => field.trim())),
    talk: lines.filter(line => line !== '' && !isRow(line)).join(' '),
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
 * Parses `index, name, memory.total, driver_version, uuid` from both ends, because a name may contain commas. Undefined
 * for a GPU that is gone, which nvidia-smi still lists.
 */
function gpuOf(row: readonly string[]): Gpu | undefined {
  const [memory, driver, uuid] = row.slice(-3);
  const name = row.slice(1, -3).join(', ');
  // On a healthy laptop, the power value may be [Unknown Error]. A name or a memory size is not.
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

/** Whether a row, of any query, is that of a GPU that is gone. */
export function isLost(row: readonly string[]): boolean {
  return row.some(field => LOST.includes(field));
}

/** The problem of GPUs that nvidia-smi lists but that do not respond; undefined when there are none. */
function lostProblem(rows: readonly string[][]): GpuProblem | undefined {
  if (rows.length === 0) return undefined;
  return {
    code: 'gpu_lost',
    message: `GPU ${rows.map(row => row[0]).join(', ')} does not answer and is left out: reboot this machine, then check its power, cooling and slot.`,
  };
}

function readComplaint(talk: string): GpuProblem | undefined {
  const complaint = COMPLAINTS.find(({ pattern }) => talk.includes(pattern));
  if (complaint === undefined) return undefined;
  return { code: complaint.code, message: `nvidia-smi says: ${talk.slice(0, 300)} ${complaint.remedy}` };
}

/** The problem that the output of any query shows: a driver failure, or lost GPUs. */
export function readProblem(rows: readonly string[][], talk: string): GpuProblem | undefined {
  return readComplaint(talk) ?? lostProblem(rows.filter(isLost));
}

function memoryProblem(gpu: Gpu | undefined): GpuProblem | undefined {
  if (gpu === undefined) return undefined;
  return {
    code: 'memory_unknown',
    message: `nvidia-smi does not say how much memory GPU ${gpu.index} (${gpu.name}) has, so no job that asks for an amount will come here.`,
  };
}

/**
 * Finds the NVIDIA GPUs of this machine. Without nvidia-smi, the report is empty; with a broken driver, it has a
 * problem.
 */
export async function probeNvidia(run: RunCommand): Promise<GpuReport> {
  const result = await queryNvidia(run, ['index', 'name', 'memory.total', 'driver_version', 'uuid']);
  if (result.kind !== 'exited') return makeReport('cuda', [], commandProblem('nvidia-smi', result));
  const { rows, talk } = splitRows(`${result.stdout}\n${result.stderr}`);
  const gpus = rows.flatMap(row => gpuOf(row) ?? []);
  const problem =
    readComplaint(talk) ??
    lostProblem(rows.filter(row => gpuOf(row) === undefined)) ??
    memoryProblem(gpus.find(gpu => gpu.vramGb === undefined));
  if (rows.length > 0 || problem !== undefined) return makeReport('cuda', gpus, problem);
  const excerpt = talk.slice(0, 300) || 'no output';
  return makeReport('cuda', [], {
    code: 'probe_failed',
    message: `nvidia-smi listed no GPU (exit code ${result.code}: ${excerpt}). Run it by hand to see why.`,
  });
}
