import type { EngineCheck, SlurmSettings } from '../../../protocol/pool.ts';
import type { Engine, LaunchOrder } from '../../orchestrator/ports/engines.ts';
import { type ProgramResult, type RunProgram, describeFailure } from '../run-program.ts';
import { batchScript } from './batch-script.ts';
import { checkSlurm } from './check.ts';
import { mergeByLaunch, parseQueue, squeueArgv } from './queue.ts';
import { type SlurmCommand, createSlurmCommand } from './reach.ts';
import { readSubmission, submitArgv } from './submission.ts';

export interface SlurmLimits {
  /** Must exceed 10 s: when the controller does not respond, Slurm's commands themselves fail after 10 s. */
  readonly submitMs: number;
  readonly listMs: number;
  readonly endMs: number;
  readonly checkMs: number;
}

const defaultLimits: SlurmLimits = { submitMs: 60_000, listMs: 30_000, endMs: 30_000, checkMs: 30_000 };

export interface SlurmEngineOptions {
  /** Id of the fleet, part of job names: letters, digits and `-`. */
  readonly fleet: string;
  readonly settings: SlurmSettings;
  /** The largest machine that the pool orders. The check asks Slurm whether it could provide one. */
  readonly largest: Pick<LaunchOrder, 'gpus' | 'wallTimeS'>;
  /** Returns the shell commands that start the worker of an order (main/engines/start-script.ts). */
  readonly start: (order: LaunchOrder) => string;
  readonly run: RunProgram;
  readonly limits?: Partial<SlurmLimits>;
}

/** Creates an engine that orders machines from a Slurm cluster with Slurm's command line, on this machine or over ssh. */
export function createSlurmEngine(options: SlurmEngineOptions): Engine {
  const { fleet, settings, largest, start, run } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const slurm = createSlurmCommand(run, settings.login);

  const queue = async () => {
    const result = await slurm(squeueArgv, { timeoutMs: limits.listMs });
    if (result.code !== 0) throw new Error(describeFailure('squeue', result));
    return parseQueue(fleet, result.stdout);
  };
  const cancel = (args: readonly string[], jobs: readonly string[]) =>
    scancel(slurm, [...args, ...jobs], limits.endMs);

  return {
    check: (): Promise<EngineCheck> => checkSlurm(slurm, settings, largest, limits.checkMs),

    async launch(order) {
      const result = await slurm(submitArgv(fleet, settings, order), {
        timeoutMs: limits.submitMs,
        stdin: batchScript(start(order), order.nodes),
        token: order.joinToken,
      });
      return readSubmission(result);
    },

    list: async () => mergeByLaunch(await queue()),

    async end(ids, how) {
      if (ids.length === 0) return;
      const launchIds = new Set(ids);
      const jobsToCancel = (await queue()).filter(
        ({ launchId, sighting }) => launchIds.has(launchId) && sighting.state !== 'ended',
      );
      if (jobsToCancel.length === 0) return;
      const jobs = jobsToCancel.map(({ sighting }) => sighting.engineId);
      if (how === 'now') return cancel([], jobs);
      // Cancel waiting jobs, because they have no worker that could get the signal. A job that starts just before this call is
      // not cancelled, but gets the signal below.
      if (jobsToCancel.some(({ sighting }) => sighting.state === 'waiting'))
        await cancel(['--state=PENDING'], jobs);
      // Slurm drops a signal to a job whose batch script is just starting, and reports no error.
      return cancel(['--batch', '--signal=TERM'], jobs);
    },
  };
}

/** Matches errors about jobs that have already ended, or that are not running. */
const harmless =
  /Invalid job id|already completing or completed|No active jobs match|not running|pending execution/;

async function scancel(slurm: SlurmCommand, args: readonly string[], timeoutMs: number): Promise<void> {
  const result = await slurm(['scancel', ...args], { timeoutMs });
  if (result.code !== 0 && !isHarmless(result)) throw new Error(describeFailure('scancel', result));
}

/** For a signal to a job that has ended, scancel prints nothing. Its exit code is the low byte of Slurm's error number. */
const endedCodes: readonly (number | null)[] = [2_017 % 256, 2_021 % 256];

function isHarmless({ code, stderr }: ProgramResult): boolean {
  const errors = stderr.split('\n').filter(line => /^scancel: (?:error|fatal): /.test(line));
  return errors.length === 0 ? endedCodes.includes(code) : errors.every(line => harmless.test(line));
}
