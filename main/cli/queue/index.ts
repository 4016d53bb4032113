import { InvalidArgumentError } from 'commander';
import { queueApi } from '../../../protocol/queue-api.ts';
import { maxUsageDays, usageApi } from '../../../protocol/usage-api.ts';
import { numberOf, readInput, textOf, timeSpan } from '../flags.ts';
import { printOne, printRows } from '../output.ts';
import { duration } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { limits } from './limits.ts';
import { move } from './move.ts';
import { queueFacts, statsFacts, usageColumns } from './text.ts';

const status: RemoteSpec = {
  name: 'status',
  description: 'Show whether the queue is paused, its limits, and the number of pending and running jobs',
  async act(remote) {
    const answer = await remote.request(queueApi.status);
    printOne(remote, { answer, facts: queueFacts(answer) });
  },
};

const pause: RemoteSpec = {
  name: 'pause',
  description: 'Stop dispatching jobs until "queue resume". Running jobs continue',
  shape: command => command.option('--note <text>', 'reason to show with the paused queue'),
  async act(remote) {
    const body = readInput(queueApi.pause.body, { note: textOf(remote.flags, 'note') }, { note: '--note' });
    const answer = await remote.request(queueApi.pause, { body });
    printOne(remote, { answer, facts: queueFacts(answer) });
  },
};

const resume: RemoteSpec = {
  name: 'resume',
  description: 'Resume dispatching jobs',
  async act(remote) {
    const answer = await remote.request(queueApi.resume);
    printOne(remote, { answer, facts: queueFacts(answer) });
  },
};

const dayS = 86_400;

/**
 * Parses an age; returns seconds. Rejects numbers without a unit, unlike other options, which read them as seconds. Otherwise a
 * user who means days would delete nearly everything.
 */
function age(text: string): number {
  if (/^\d+$/.test(text)) throw new InvalidArgumentError('Give a time with a unit, such as 30d.');
  const seconds = timeSpan(text);
  if (seconds < dayS || seconds > 365 * dayS) throw new InvalidArgumentError('Give 1d to 365d.');
  return seconds;
}

const cleanup: RemoteSpec = {
  name: 'cleanup',
  description: 'Delete jobs that ended long ago, with their files and logs',
  shape: command =>
    command
      .requiredOption(
        '--older-than <time>',
        'minimum time since the end of the jobs, from 1d to 365d (required)',
        age,
      )
      .option('--yes', 'skip the confirmation'),
  async act(remote) {
    const seconds = numberOf(remote.flags, 'older-than') ?? Number.NaN;
    await remote.confirm(`Delete all jobs that ended more than ${daysText(seconds)} ago?`);
    const answer = await remote.request(queueApi.cleanup, { query: { days: seconds / dayS } });
    printOne(remote, {
      answer,
      facts: [['Deleted', `${answer.deleted} ${answer.deleted === 1 ? 'job' : 'jobs'}`]],
    });
  },
};

function daysText(seconds: number): string {
  const days = seconds / dayS;
  if (!Number.isInteger(days)) return duration(seconds);
  return days === 1 ? '1 day' : `${days} days`;
}

const stats: RemoteSpec = {
  name: 'stats',
  description: 'Count jobs by status and user, with wait and run times',
  async act(remote) {
    const answer = await remote.request(queueApi.stats);
    printOne(remote, { answer, facts: statsFacts(answer) });
  },
};

const usage: RemoteSpec = {
  name: 'usage',
  description: 'Show the GPU-hours, energy and cost of the last days',
  shape: command => command.option('-d, --days <count>', 'number of days, 1 to 30 (default: 7)', dayCount),
  async act(remote) {
    const days = numberOf(remote.flags, 'days') ?? undefined;
    const answer = await remote.request(usageApi.days, { query: { days } });
    printRows(remote, { answer, rows: answer.days, columns: usageColumns(answer.currency), none: 'No days' });
  },
};

function dayCount(text: string): number {
  if (!/^\d{1,2}$/.test(text) || Number(text) < 1 || Number(text) > maxUsageDays)
    throw new InvalidArgumentError(`Give 1 to ${maxUsageDays}.`);
  return Number(text);
}

/** Subcommands of `trainyard queue`, in the order of the help. */
export const queueCommands: readonly RemoteSpec[] = [
  status,
  pause,
  resume,
  move,
  limits,
  cleanup,
  stats,
  usage,
];
