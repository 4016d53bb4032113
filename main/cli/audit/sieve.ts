import type { Command } from 'commander';
import { textOf } from '../flags.ts';
import type { Flags } from '../../config.ts';

/** Adds the filter options that all audit commands share. */
export const withSieve = (command: Command): Command =>
  command
    .option('--type <type>', 'only entries of this type, such as worker.created or worker.*')
    .option('--event-type <type>', 'same as --type')
    .option('--actor <id>', 'only actions of this token or worker')
    .option('--target <id>', 'only entries about the worker, job or token with this id')
    .option('--since <time>', 'only entries from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--until <time>', 'only entries before this time');

export const sieveOf = (flags: Flags) => ({
  event_type: textOf(flags, 'type') ?? textOf(flags, 'event-type') ?? undefined,
  actor_id: textOf(flags, 'actor') ?? undefined,
  target_id: textOf(flags, 'target') ?? undefined,
  since: textOf(flags, 'since') ?? undefined,
  until: textOf(flags, 'until') ?? undefined,
});

/** The option for each request field, for messages. */
export const sieveFlags = {
  event_type: '--type',
  actor_id: '--actor',
  target_id: '--target',
  since: '--since',
  until: '--until',
};
