import { Argument, type Command } from 'commander';
import { finalStatuses } from '../../../protocol/job.ts';
import type { JobQuery } from './pages.ts';

/** Job filters of the commands. A config name selects among these jobs only, and completion offers only these. */
export const among = {
  all: {},
  unended: { include_completed: 'false' },
  ended: { status: finalStatuses.join(',') },
  running: { status: 'running' },
  pending: { status: 'pending' },
  blocked: { blocked: 'true' },
} as const satisfies Readonly<Record<string, JobQuery>>;

/** A job among those that a command accepts. */
export class JobArgument extends Argument {
  readonly which: JobQuery;

  constructor(which: JobQuery, name = '<job>') {
    super(name, 'job id, the start of a job id, or a config name');
    this.which = which;
  }
}

export const takesJob = (command: Command, which: JobQuery): Command =>
  command.addArgument(new JobArgument(which));
