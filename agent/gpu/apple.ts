/** Probes Apple silicon with system_profiler: one GPU, which shares the machine's memory. */

import { runFirst, type RunCommand } from '../process/run-command.ts';
import { commandProblem, makeReport, type GpuReport } from './report.ts';
import { asObject, parseObject, textAt, type JsonObject } from './json.ts';

const ARGS = ['SPDisplaysDataType', 'SPHardwareDataType', '-json'];

/** Returns the first entry of a section, as in `{"SPHardwareDataType": [{...}]}`. */
function entryOf(profile: JsonObject | undefined, section: string): JsonObject | undefined {
  const entries = profile?.[section];
  return Array.isArray(entries) ? asObject(entries[0]) : undefined;
}

/** Parses `"64 GB"`, as Apple writes it. GB means GiB, and TB means 1024 GiB. */
function memoryGbOf(text: string | undefined): number | undefined {
  const match = /^(\d{1,6}) (GB|TB)$/.exec(text ?? '');
  return match === null ? undefined : Number(match[1]) * (match[2] === 'TB' ? 1024 : 1);
}

/** Reports the GPU even if system_profiler fails. A failure loses only its details, and is reported as a problem. */
export async function probeApple(run: RunCommand): Promise<GpuReport> {
  const result = await runFirst(run, ['system_profiler', '/usr/sbin/system_profiler'], ARGS);
  const profile = result.kind === 'exited' ? parseObject(result.stdout) : undefined;
  const hardware = entryOf(profile, 'SPHardwareDataType');
  const vramGb = memoryGbOf(textAt(hardware, 'physical_memory'));
  const name =
    textAt(hardware, 'chip_type') ??
    textAt(entryOf(profile, 'SPDisplaysDataType'), 'sppci_model') ??
    'Apple Silicon';
  return makeReport(
    'mps',
    [{ index: 0, name, vramGb }],
    vramGb !== undefined
      ? undefined
      : (commandProblem('system_profiler', result) ?? {
          code: 'memory_unknown',
          message:
            'system_profiler does not say how much memory this Mac has, so no job that asks for an amount will come here.',
        }),
  );
}
