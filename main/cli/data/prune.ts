import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { isOn } from '../flags.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { columns } from './list.ts';

export const prune: RemoteSpec = {
  name: 'prune',
  description: 'Remove versions of datasets that no job uses: older ones, or with names, the newest, too',
  shape: command =>
    command
      .argument('[name...]', 'datasets that are to be removed altogether')
      .option('-n, --dry-run', 'remove nothing: print what would be removed')
      .option('--yes', 'do not ask'),
  async act(remote, names) {
    const body = names.length === 0 ? {} : { names: [...names] };
    const tried = await remote.ask(datasetsApi.prune, { body: { ...body, dry_run: true } });
    const none =
      'There is nothing to remove: jobs and pins keep their versions, and a dataset keeps its newest';
    if (isOn(remote.flags, 'dry-run') || tried.removed.length === 0)
      return printRows(remote, { answer: tried, rows: tried.removed, columns, none });
    await remote.confirm(`Remove ${tried.removed.length} versions of datasets? Their files are gone then.`);
    const answer = await remote.ask(datasetsApi.prune, { body });
    printRows(remote, { answer, rows: answer.removed, columns, none });
    remote.terminal.err('Removed\n');
  },
};
