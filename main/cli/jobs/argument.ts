import { Argument, type Command } from 'commander';
import { finalStatuses } from '../../../protocol/job.ts';
import type { JobQuery } from './pages.ts';

/** Which jobs a command is for: a name of a config means one of these alone, and these are completed. */
export const among = {
  all: {},
  unended: { include_completed: 'false' },
  ended: { status: finalStatuses.join(',') },
  running: { status: 'running' },
  pending: { status: 'pending' },
  blocked: { blocked: 'true' },
} as const satisfies Readonly<Record<string, JobQuery>>;

/** One job, of those that a command is for. */
export class JobArgument extends Argument {
  readonly which: JobQuery;

  constructor(which: JobQuery, name = '<job>') {
    super(name, 'its id, the beginning of its id, or the name of its config');
    this.which = which;
  }
}

export const takesJob = (command: Command, which: JobQuery): Command =>
  command.addArgument(new JobArgument(which));
