import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn } from '../flags.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const pin: RemoteSpec = {
  name: 'pin',
  description: 'Pin a version of a dataset, so that it is kept even if no job uses it',
  shape: command =>
    command
      .argument('<dataset>', 'dataset name for its newest version, or NAME@VERSION')
      .option('--remove', 'unpin it'),
  async act(remote, [word = '']) {
    const { id } = await findVersion(remote, word);
    const pinned = !isOn(remote.flags, 'remove');
    const answer = await remote.ask(datasetsApi.pin, { params: { id }, body: { pinned } });
    const what = `${answer.name}@${answer.version.slice(0, 12)}`;
    printOne(remote, { answer, facts: [[pinned ? 'Pinned' : 'Unpinned', what]] });
  },
};

/** Ends the command if no dataset has this name, or datasets of several owners have it. */
async function findVersion(remote: Remote, word: string): Promise<DatasetView> {
  const [, name = word, version = ''] = /^(.+)@([0-9a-f]{4,64})$/.exec(word) ?? [];
  const { datasets } = await remote.ask(datasetsApi.list, { query: { name, all: 'true' } });
  const found = datasets.filter(each => (version === '' ? each.newest : each.version.startsWith(version)));
  const [one] = found;
  if (one === undefined)
    return fail(
      exitCodes.notFound,
      `No dataset "${word}". To list datasets, run "trainyard data list --all"`,
    );
  if (new Set(found.map(({ owner }) => owner)).size === 1) return one;
  const owners = found.map(({ owner }) => owner).join(', ');
  return fail(
    exitCodes.usage,
    `Several users have a dataset ${word}: ${owners}. Use the token of the one you mean`,
  );
}
