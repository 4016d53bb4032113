import { type Command, Option } from 'commander';
import { finalStatuses } from '../../../protocol/job.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, wordsAmong } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { actOnAll, jobsWith, purgeOne, withYes } from './bulk.ts';

const waitingStatuses = ['pending', 'blocked'] as const;
const purgeable = [...waitingStatuses, 'queued', ...finalStatuses];

export const purge: RemoteSpec = {
  name: 'purge',
  description: 'Delete jobs by status. Pending jobs are cancelled first',
  shape: command => withYes(addOptions(command)),
  async act(remote) {
    const { flags } = remote;
    const { status } = flags;
    const named = Array.isArray(status) ? status.map(String) : [];
    const statuses = isOn(flags, 'all') ? [...waitingStatuses, ...finalStatuses] : named;
    if (statuses.length === 0) fail(exitCodes.usage, 'Specify --status STATUS or --all');
    await actOnAll(remote, {
      jobs: await jobsWith(remote, statuses),
      verb: 'Delete, with their files and logs,',
      act: purgeOne(remote),
    });
  },
};

const addOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('-s, --status <status>', 'only these statuses, separated by commas; repeatable')
        .choices(purgeable)
        .argParser((text: string, before: readonly string[] | undefined) => [
          ...(before ?? []),
          ...wordsAmong('status', purgeable)(text),
        ]),
    )
    .addOption(new Option('--all', 'all jobs that are not on a worker').conflicts('status'));
