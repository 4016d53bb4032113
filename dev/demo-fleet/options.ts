import { type Command, InvalidArgumentError } from 'commander';
import { exitCodes, fail } from '../../main/cli/failure.ts';
import { decimal, isOn, numberOf, textOf, timeSpan, wholeNumber } from '../../main/cli/flags.ts';
import type { Remote } from '../../main/cli/remote.ts';
import type { FleetShape } from './hardware.ts';
import type { TrainingSettings } from './training-plan.ts';

const maxWorkers = 500;

export interface FleetOptions {
  readonly shape: FleetShape;
  readonly habits: TrainingSettings;
  /** The average interval of submissions in ms; null when the demo submits no jobs. */
  readonly submitEveryMs: number | null;
  readonly seed: string;
  readonly keep: boolean;
  readonly verbose: boolean;
}

export const addFleetOptions = (command: Command): Command =>
  command
    .option('--workers <count>', `number of workers, up to ${maxWorkers}`, numberBetween(1, maxWorkers), 10)
    .option('--ephemeral <count>', 'number of workers that leave after one job', wholeNumber, 0)
    .option('--flaky <count>', 'number of workers that disconnect from time to time', wholeNumber, 0)
    .option('--job-seconds <time>', 'duration of a job, plus or minus a third', jobTime, 60)
    .option('--fail-rate <share>', 'share of jobs that fail, 0 to 1', share, 0.1)
    .option('--submit-rate <rate>', 'submit sample jobs, such as 6/min or 100/h', submitRate)
    .option('--seed <text>', 'seed of the random choices', '1')
    .option('--keep', 'keep the workers at the end, as offline')
    .option('-v, --verbose', 'print the messages of each worker');

/** Reads the options of the demo. Ends the command when they contradict each other. */
export function readOptions(flags: Remote['flags']): FleetOptions {
  const count = (name: string): number => numberOf(flags, name) ?? 0;
  const shape = { workers: count('workers'), ephemeral: count('ephemeral'), flaky: count('flaky') };
  for (const name of ['ephemeral', 'flaky'] as const) {
    if (shape[name] > shape.workers)
      fail(exitCodes.usage, `--${name} ${shape[name]}: there are only ${shape.workers} workers`);
  }
  return {
    shape,
    habits: { jobSeconds: count('job-seconds'), failRate: count('fail-rate') },
    submitEveryMs: numberOf(flags, 'submit-rate'),
    seed: textOf(flags, 'seed') ?? '',
    keep: isOn(flags, 'keep'),
    verbose: isOn(flags, 'verbose'),
  };
}

const numberBetween =
  (min: number, max: number) =>
  (text: string): number => {
    const value = wholeNumber(text);
    if (value < min || value > max) throw new InvalidArgumentError(`Give a number from ${min} to ${max}.`);
    return value;
  };

function share(text: string): number {
  const value = decimal(text);
  if (value > 1) throw new InvalidArgumentError('Give a share from 0 to 1.');
  return value;
}

const secondsPerDay = 86_400;

function jobTime(text: string): number {
  const seconds = timeSpan(text);
  if (seconds < 0.1 || seconds > secondsPerDay)
    throw new InvalidArgumentError('Give seconds, or a time such as 90s or 30m, up to a day.');
  return seconds;
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 };

/** Parses a rate such as `6/min`. Returns the milliseconds between two submissions. */
function submitRate(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,6}(?:\.\d+)?)\/(s|min|h)$/.exec(text) ?? [];
  const everyMs = (unitMs[unit] ?? 0) / Number(amount);
  if (!(everyMs >= 100 && everyMs <= 24 * 3_600_000))
    throw new InvalidArgumentError('Give a rate such as 6/min, 100/h or 2/s, up to 10/s.');
  return everyMs;
}
