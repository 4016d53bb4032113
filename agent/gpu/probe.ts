/**
 * Finds this machine's GPUs. This is the public interface of agent/gpu:
 *
 *     const run = createRunCommand({ environment });
 *     const report = await probeGpus({ run, platform, arch, environment });
 *     const selection = selectGpus(report, [0, 1]);                        // --gpus 0,1
 *     spawn(program, { env: { ...environment, ...trainerGpuEnvironment(selection.report) } });
 */

import { type RunCommand, runFirst } from '../process/run-command.ts';
import { probeNvidia } from './nvidia.ts';
import { commandProblem, type GpuReport, makeReport } from './report.ts';
import { probeRocm } from './rocm.ts';
import { narrowByEnvironment, type Environment } from './selection.ts';
import { asObject, type JsonObject, parseObject, textAt } from './json.ts';

export { createRunCommand } from '../process/run-command.ts';
export type { RunCommand } from '../process/run-command.ts';
export type { GpuReport } from './report.ts';
export { choiceOf, selectGpus, trainerGpuEnvironment } from './selection.ts';
export type { Environment } from './selection.ts';
export { probeFigures } from './figures.ts';
export { probeUtilisation, type UtilisationReport } from './utilisation.ts';

export interface ProbeDeps {
  readonly run: RunCommand;
  /** The platform and the architecture, as in Node's `process.platform` and `process.arch`. */
  readonly platform: string;
  readonly arch: string;
  /** The agent's environment. CUDA_VISIBLE_DEVICES in it narrows the report. */
  readonly environment: Environment;
}

async function probeMachine(deps: ProbeDeps): Promise<GpuReport> {
  if (deps.platform === 'darwin') return deps.arch === 'arm64' ? probeApple(deps.run) : makeReport('cpu', []);
  const nvidia = await probeNvidia(deps.run);
  if (nvidia.count > 0) return nvidia;
  const rocm = await probeRocm(deps.run);
  return makeReport('rocm', rocm.gpus, nvidia.problem ?? rocm.problem);
}

/**
 * Finds the GPUs that jobs on this machine may use. On a machine with NVIDIA and AMD GPUs, reports only the NVIDIA GPUs.
 * Never rejects: failures are in `problem`. Takes as long as its commands (10 s each with `createRunCommand`).
 */
export async function probeGpus(deps: ProbeDeps): Promise<GpuReport> {
  return narrowByEnvironment(await probeMachine(deps), deps.environment);
}

const appleArgs = ['SPDisplaysDataType', 'SPHardwareDataType', '-json'];

/** Returns the first entry of a section, as in `{"SPHardwareDataType": [{...}]}`. */
function entryOf(profile: JsonObject | undefined, section: string): JsonObject | undefined {
  const entries = profile?.[section];
  return Array.isArray(entries) ? asObject(entries[0]) : undefined;
}

/** Parses Apple's format, such as `"64 GB"`. GB means GiB, and TB means 1024 GiB. */
function memoryGbOf(text: string | undefined): number | undefined {
  const match = /^(\d{1,6}) (GB|TB)$/.exec(text ?? '');
  return match === null ? undefined : Number(match[1]) * (match[2] === 'TB' ? 1024 : 1);
}

/**
 * Probes Apple silicon with system_profiler: one GPU, which shares the machine's memory. If system_profiler fails, the
 * report has the GPU without details, and a problem.
 */
async function probeApple(run: RunCommand): Promise<GpuReport> {
  const result = await runFirst(run, ['system_profiler', '/usr/sbin/system_profiler'], appleArgs);
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
            'system_profiler does not report the memory of this Mac, so this worker gets no jobs that require an amount of memory.',
        }),
  );
}
