import type { EngineCheck, SlurmSettings } from '../../../protocol/pool.ts';
import type { Engine, LaunchOrder } from '../../orchestrator/ports/engines.ts';
import { type ProgramResult, type RunProgram, describeFailure } from '../run-program.ts';
import { batchScript } from './batch-script.ts';
import { checkSlurm } from './check.ts';
import { mergeByLaunch, parseQueue, squeueArgv } from './queue.ts';
import { type SlurmCommand, createSlurmCommand } from './reach.ts';
import { readSubmission, submitArgv } from './submission.ts';

export interface SlurmLimits {
  /** A controller that does not answer takes about 10 s to fail by itself. */
  readonly submitMs: number;
  readonly listMs: number;
  readonly endMs: number;
  readonly checkMs: number;
}

const defaultLimits: SlurmLimits = { submitMs: 60_000, listMs: 30_000, endMs: 30_000, checkMs: 30_000 };

export interface SlurmEngineOptions {
  /** Part of the names of jobs: letters, digits and `-`. */
  readonly fleet: string;
  readonly settings: SlurmSettings;
  /** The largest machine of the pool. The check asks Slurm whether it could give one. */
  readonly largest: Pick<LaunchOrder, 'gpus' | 'wallTimeS'>;
  /** Shell commands that start the worker of an order: see main/engines/start-script.ts. */
  readonly start: (order: LaunchOrder) => string;
  readonly run: RunProgram;
  readonly limits?: Partial<SlurmLimits>;
}

/** Orders machines from a Slurm cluster by its command line, on this machine or over ssh. */
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
      const wanted = new Set(ids);
      const found = (await queue()).filter(
        ({ launchId, sighting }) => wanted.has(launchId) && sighting.state !== 'ended',
      );
      if (found.length === 0) return;
      const jobs = found.map(({ sighting }) => sighting.engineId);
      if (how === 'now') return cancel([], jobs);
      // Waiting jobs have no worker to signal. A job that starts before this call is not cancelled, but gets the signal below.
      if (found.some(({ sighting }) => sighting.state === 'waiting')) await cancel(['--state=PENDING'], jobs);
      // Slurm drops a signal to a job whose batch script is just starting, without an error.
      return cancel(['--batch', '--signal=TERM'], jobs);
    },
  };
}

/** Errors about jobs that have ended meanwhile. */
const harmless =
  /Invalid job id|already completing or completed|No active jobs match|not running|pending execution/;

async function scancel(slurm: SlurmCommand, args: readonly string[], timeoutMs: number): Promise<void> {
  const result = await slurm(['scancel', ...args], { timeoutMs });
  if (result.code !== 0 && !isHarmless(result)) throw new Error(describeFailure('scancel', result));
}

/** For a signal to a job that has ended, scancel exits with the low byte of Slurm's error number and prints nothing. */
const endedCodes: readonly (number | null)[] = [2_017 % 256, 2_021 % 256];

function isHarmless({ code, stderr }: ProgramResult): boolean {
  const errors = stderr.split('\n').filter(line => /^scancel: (?:error|fatal): /.test(line));
  return errors.length === 0 ? endedCodes.includes(code) : errors.every(line => harmless.test(line));
}
