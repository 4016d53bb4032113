import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { isOn } from '../flags.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { columns } from './list.ts';

export const prune: RemoteSpec = {
  name: 'prune',
  description: 'Remove unused older versions; with names, all unused versions of these datasets',
  shape: command =>
    command
      .argument('[name...]', 'datasets to remove completely')
      .option('-n, --dry-run', 'print what would be removed, without removing it')
      .option('--yes', 'skip the confirmation'),
  async act(remote, names) {
    const body = names.length === 0 ? {} : { names: [...names] };
    const tried = await remote.ask(datasetsApi.prune, { body: { ...body, dry_run: true } });
    const none =
      names.length === 0
        ? 'Nothing to remove: versions in use, pinned versions and the newest versions stay'
        : 'Nothing to remove: versions in use and pinned versions stay';
    if (isOn(remote.flags, 'dry-run') || tried.removed.length === 0)
      return printRows(remote, { answer: tried, rows: tried.removed, columns, none });
    const { length } = tried.removed;
    const what = `${length} dataset ${length === 1 ? 'version' : 'versions'}`;
    await remote.confirm(`Remove ${what}? Files in no other version are deleted.`);
    const answer = await remote.ask(datasetsApi.prune, { body });
    printRows(remote, { answer, rows: answer.removed, columns, none });
    remote.terminal.err('Removed\n');
  },
};
