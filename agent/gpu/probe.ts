/**
 * Finds this machine's GPUs. The public interface of the gpu-*.ts files:
 *
 *     const run = createRunCommand({ environment });
 *     const report = await probeGpus({ run, platform, arch, environment });
 *     const selection = selectGpus(report, [0, 1]);                        // --gpus 0,1
 *     spawn(program, { env: { ...environment, ...trainerGpuEnvironment(selection.report) } });
 */

import type { RunCommand } from '../process/run-command.ts';
import { probeApple } from './apple.ts';
import { probeNvidia } from './nvidia.ts';
import { makeReport, type GpuReport } from './report.ts';
import { probeRocm } from './rocm.ts';
import { narrowByEnvironment, type Environment } from './selection.ts';

export { createRunCommand } from '../process/run-command.ts';
export type { RunCommand } from '../process/run-command.ts';
export type { GpuReport } from './report.ts';
export { choiceOf, selectGpus, trainerGpuEnvironment } from './selection.ts';
export type { Environment } from './selection.ts';
export { probeFigures } from './figures.ts';
export { probeUtilisation } from './utilisation.ts';

export interface ProbeDeps {
  readonly run: RunCommand;
  /** As in Node's `process.platform` and `process.arch`. */
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
 * Finds the GPUs that jobs on this machine may use. On a machine with usable GPUs of both vendors, it reports NVIDIA's
 * only. It never rejects, and takes no longer than its commands (10 s each with `createRunCommand`). Failures are in
 * `problem`.
 */
export async function probeGpus(deps: ProbeDeps): Promise<GpuReport> {
  return narrowByEnvironment(await probeMachine(deps), deps.environment);
}
