/** Simulated machines with GPUs: the output of the vendors' tools, copied from public examples where available. */

import { probeGpus, type Environment, type GpuReport, type RunCommand } from '../../agent/gpu/probe.ts';
import type { CommandResult } from '../../agent/process/run-command.ts';

export type Outputs = Readonly<Record<string, string | CommandResult>>;

export const exited = (code: number, stdout: string, stderr = ''): CommandResult => ({
  kind: 'exited',
  code,
  stdout,
  stderr,
});
export const TIMED_OUT: CommandResult = { kind: 'timed_out', timeoutMs: 10_000 };

/** Simulates a machine on which only the commands in `outputs` exist. A string is the stdout of a command that exits with 0. */
export function machine(outputs: Outputs, calls: string[] = []): RunCommand {
  return async (command, args) => {
    calls.push([command, ...args].join(' '));
    const output = outputs[command] ?? { kind: 'missing' };
    return typeof output === 'string' ? exited(0, output) : output;
  };
}

export function probe(
  outputs: Outputs,
  environment: Environment = {},
  platform = 'linux',
  arch = 'x64',
): Promise<GpuReport> {
  return probeGpus({ run: machine(outputs), platform, arch, environment });
}

export const probeNvidia = (
  output: string | CommandResult,
  environment: Environment = {},
): Promise<GpuReport> => probe({ 'nvidia-smi': output }, environment);

export const probeMac = (output: string | CommandResult): Promise<GpuReport> =>
  probe({ system_profiler: output }, {}, 'darwin', 'arm64');

export const A100 = '0, NVIDIA A100-SXM4-80GB, 81920, 535.129.03, GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77\n';
export const MIXED = [
  '0, NVIDIA A100-SXM4-80GB, 81920, 550.54.15, GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77',
  '1, NVIDIA A100-SXM4-80GB, 81920, 550.54.15, GPU-67a571b1-79ee-1016-8ea3-c1fff3f1c1d2',
  '2, NVIDIA GeForce RTX 3090, 24576, 550.54.15, GPU-67a5d88f-e34e-62f4-415e-be2cbf2c6178',
].join('\r\n');

export const RX_7900_XT = JSON.stringify({
  card0: {
    'GPU use (%)': '0',
    'VRAM Total Memory (B)': '21458059264',
    'VRAM Total Used Memory (B)': '27856896',
    'Card Series': 'Radeon RX 7900 XT',
    'Card Model': '0x744c',
    'Card Vendor': 'Advanced Micro Devices, Inc. [AMD/ATI]',
    'Card SKU': 'D70401XT',
    'GFX Version': 'gfx1100',
  },
  system: { 'Driver version': '6.8.5' },
});
export const mac = (hardware: unknown, displays: unknown = []): string =>
  JSON.stringify({ SPDisplaysDataType: displays, SPHardwareDataType: hardware });
