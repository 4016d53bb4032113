import { InvalidArgumentError } from 'commander';
import { queueApi } from '../../../protocol/queue-api.ts';
import { numberOf, timeSpan } from '../flags.ts';
import { printOne } from '../output.ts';
import { duration } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';

const dayS = 86_400;

/**
 * Parses an age; returns seconds. It rejects bare numbers, which mean seconds elsewhere: a user who means days would delete nearly
 * everything.
 */
function age(text: string): number {
  if (/^\d+$/.test(text)) throw new InvalidArgumentError('Give a time with its unit, such as 30d.');
  const seconds = timeSpan(text);
  if (seconds < dayS || seconds > 365 * dayS) throw new InvalidArgumentError('Give 1d to 365d.');
  return seconds;
}

export const cleanup: RemoteSpec = {
  name: 'cleanup',
  description: 'Delete the jobs that ended long ago; the audit trail keeps what was done',
  shape: command =>
    command
      .requiredOption('--older-than <time>', 'those that ended so long ago or earlier, such as 30d', age)
      .option('--yes', 'do not ask'),
  async act(remote) {
    const seconds = numberOf(remote.flags, 'older-than') ?? Number.NaN;
    await remote.confirm(`Delete all jobs that ended ${daysText(seconds)} ago or earlier?`);
    const answer = await remote.ask(queueApi.cleanup, { query: { days: seconds / dayS } });
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
