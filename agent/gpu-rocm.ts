/** AMD's GPUs, through rocm-smi (ROCm/rocm_smi_lib, python_smi_tools/rocm_smi.py). */

import { commandProblem, runFirst } from './gpu-command.ts';
import type { RunCommand } from './gpu-command.ts';
import { asObject, parseObject, textAt } from './gpu-json.ts';
import type { JsonObject } from './gpu-json.ts';
import { gbFromMib, makeReport } from './gpu-report.ts';
import type { Gpu, GpuProblem, GpuReport } from './gpu-report.ts';

/** The second is where ROCm installs it, outside the PATH of a service. */
export const rocmCommands = ['rocm-smi', '/opt/rocm/bin/rocm-smi'];
const ARGS = ['--showproductname', '--showmeminfo', 'vram', '--showdriverversion', '--json'];
const BYTES_PER_MIB = 1024 * 1024;

function vramMibOf(card: JsonObject): number | undefined {
  const bytes = textAt(card, 'VRAM Total Memory (B)');
  return bytes !== undefined && /^\d{1,15}$/.test(bytes) ? Number(bytes) / BYTES_PER_MIB : undefined;
}

/** rocm-smi 5 writes `Card series`, 6 `Card Series`; a card too new for its table has only its model and GFX version. */
function nameOf(card: JsonObject): string {
  return (
    textAt(card, 'Card Series', 'Card series') ??
    `AMD GPU ${textAt(card, 'GFX Version', 'Card Model') ?? ''}`.trim()
  );
}

/**
 * A processor's own graphics stand beside the cards with a slice of the machine's memory (64 MiB to 2 GiB). Counting
 * them would double the GPUs of the machine and shrink what a job may rely on to nothing.
 */
function isDisplayPart(mib: number | undefined, largestMib: number): boolean {
  return mib !== undefined && mib < 4096 && mib * 4 <= largestMib;
}

/** In the order in which HIP counts them, whatever they are called. */
export const cardsOf = (smi: JsonObject): readonly JsonObject[] =>
  Object.entries(smi)
    .filter(([key]) => /^card\d{1,4}$/.test(key))
    .toSorted(([a], [b]) => Number(a.slice(4)) - Number(b.slice(4)))
    .map(([, value]) => asObject(value))
    .filter(card => card !== undefined);

function gpusOf(smi: JsonObject): readonly Gpu[] {
  const system = asObject(smi['system']);
  const cards = cardsOf(smi);
  const largestMib = Math.max(0, ...cards.map(card => vramMibOf(card) ?? 0));
  return cards.flatMap((card, index) => {
    const mib = vramMibOf(card);
    if (isDisplayPart(mib, largestMib)) return [];
    return {
      // HIP counts from 0 in this order, while an old rocm-smi names its only card card1.
      index,
      name: nameOf(card),
      vramGb: mib === undefined ? undefined : gbFromMib(mib),
      driver: textAt(system, 'Driver version') ?? textAt(card, 'Driver version'),
    };
  });
}

function problemOf(text: string, code: number): GpuProblem {
  if (text.includes('Driver not initialized')) {
    return {
      code: 'driver_unreachable',
      message:
        'rocm-smi says: Driver not initialized (amdgpu not found in modules). Load the driver (modprobe amdgpu, then dmesg for its reason); in a container pass /dev/kfd and /dev/dri.',
    };
  }
  return {
    code: 'probe_failed',
    message: `rocm-smi listed no GPU (exit code ${code}: ${text.trim().slice(0, 300) || 'no output'}). Run it by hand to see why.`,
  };
}

/** The AMD GPUs of this machine. A missing rocm-smi is an empty report; a broken driver one with a problem. */
export async function probeRocm(run: RunCommand): Promise<GpuReport> {
  const result = await runFirst(run, rocmCommands, ARGS);
  if (result.kind !== 'exited') return makeReport('rocm', [], commandProblem('rocm-smi', result));
  const gpus = gpusOf(parseObject(result.stdout) ?? {});
  // It exits with 0 without its driver, too, so the exit code alone says nothing.
  return makeReport(
    'rocm',
    gpus,
    gpus.length > 0 ? undefined : problemOf(result.stdout + result.stderr, result.code),
  );
}
