/** Probes AMD GPUs with rocm-smi (ROCm/rocm_smi_lib, python_smi_tools/rocm_smi.py). */

import { runFirst, type RunCommand } from '../process/run-command.ts';
import {
  commandProblem,
  gbFromMib,
  makeReport,
  type Gpu,
  type GpuProblem,
  type GpuReport,
} from './report.ts';
import { asObject, parseObject, textAt, type JsonObject } from './json.ts';

/** The second command is for services, because their PATH does not contain the folder of ROCm. */
export const rocmCommands = ['rocm-smi', '/opt/rocm/bin/rocm-smi'];
const ARGS = ['--showproductname', '--showmeminfo', 'vram', '--showdriverversion', '--json'];
const BYTES_PER_MIB = 1024 * 1024;

function vramMibOf(card: JsonObject): number | undefined {
  const bytes = textAt(card, 'VRAM Total Memory (B)');
  return bytes !== undefined && /^\d{1,15}$/.test(bytes) ? Number(bytes) / BYTES_PER_MIB : undefined;
}

/**
 * rocm-smi 5 prints `Card series`, version 6 `Card Series`. A card that rocm-smi does not know yet has only a model and
 * a GFX version.
 */
function nameOf(card: JsonObject): string {
  return (
    textAt(card, 'Card Series', 'Card series') ??
    `AMD GPU ${textAt(card, 'GFX Version', 'Card Model') ?? ''}`.trim()
  );
}

/**
 * Whether this is an integrated GPU, which rocm-smi lists like a card. An integrated GPU has 64 MiB to 2 GiB of system
 * memory. Such a GPU does not count. Otherwise, the machine would report one GPU too many, and a smallest memory that is
 * too small for jobs.
 */
function isIntegratedGpu(mib: number | undefined, maxMib: number): boolean {
  return mib !== undefined && mib < 4096 && mib * 4 <= maxMib;
}

/** Returns the cards in the order in which HIP numbers them, which may differ from the numbers in their names. */
export const cardsOf = (smi: JsonObject): readonly JsonObject[] =>
  Object.entries(smi)
    .filter(([key]) => /^card\d{1,4}$/.test(key))
    .toSorted(([a], [b]) => Number(a.slice(4)) - Number(b.slice(4)))
    .map(([, value]) => asObject(value))
    .filter(card => card !== undefined);

function gpusOf(smi: JsonObject): readonly Gpu[] {
  const system = asObject(smi['system']);
  const cards = cardsOf(smi);
  const maxMib = Math.max(0, ...cards.map(card => vramMibOf(card) ?? 0));
  return cards.flatMap((card, index) => {
    const mib = vramMibOf(card);
    if (isIntegratedGpu(mib, maxMib)) return [];
    return {
      // HIP starts at 0, but an old rocm-smi names the only card `card1`.
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
        'rocm-smi says: Driver not initialized (amdgpu not found in modules). Load the driver (modprobe amdgpu; dmesg shows why it fails). In a container, pass /dev/kfd and /dev/dri.',
    };
  }
  return {
    code: 'probe_failed',
    message: `rocm-smi listed no GPU (exit code ${code}: ${text.trim().slice(0, 300) || 'no output'}). Run it by hand to see why.`,
  };
}

/**
 * Finds the AMD GPUs of this machine. The report is empty without rocm-smi. With a broken driver, the report contains a
 * problem.
 */
export async function probeRocm(run: RunCommand): Promise<GpuReport> {
  const result = await runFirst(run, rocmCommands, ARGS);
  if (result.kind !== 'exited') return makeReport('rocm', [], commandProblem('rocm-smi', result));
  const gpus = gpusOf(parseObject(result.stdout) ?? {});
  // rocm-smi exits with 0 even without its driver, so the exit code alone shows nothing.
  return makeReport(
    'rocm',
    gpus,
    gpus.length > 0 ? undefined : problemOf(result.stdout + result.stderr, result.code),
  );
}
