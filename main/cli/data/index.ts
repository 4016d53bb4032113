import { basename, resolve } from 'node:path';
import { DatasetName, datasetsApi, type DatasetView } from '../../../protocol/datasets-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, readInput, textOf } from '../flags.ts';
import { printOne, printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { timeText } from '../time.ts';
import { findWorker } from '../workers/worker.ts';
import { indexData, pushData } from './push.ts';
import { sizeText } from '../../../protocol/text.ts';

const columns: readonly Column<DatasetView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'VERSION', text: ({ version }) => version.slice(0, 12) },
  { title: 'OWNER', text: ({ owner }) => owner, importance: 2 },
  { title: 'FILES', text: ({ files }) => String(files), importance: 1 },
  { title: 'SIZE', text: ({ bytes }) => sizeText(bytes) },
  { title: 'PUSHED', text: ({ created_at: at }, isScreen) => timeText(at, isScreen), importance: 3 },
  { title: 'JOBS', text: ({ jobs }) => String(jobs) },
  { title: 'PINNED', text: ({ pinned }) => (pinned ? 'yes' : '') },
];

const list: RemoteSpec = {
  name: 'list',
  description: 'List datasets and their size',
  shape: command =>
    command
      .option('--all', 'also list older versions')
      .option('--worker <worker>', 'only versions that are stored on this worker'),
  async act(remote) {
    const all = isOn(remote.flags, 'all') ? 'true' : undefined;
    const word = textOf(remote.flags, 'worker');
    const worker = word === null ? null : await findWorker(remote, word);
    const answer = await remote.request(datasetsApi.list, { query: { all, worker_id: worker?.id } });
    const none =
      worker === null
        ? 'No datasets yet. Store one with "trainyard data push FOLDER"'
        : `No datasets on the rig of ${worker.name}`;
    printRows(remote, { answer, rows: answer.datasets, columns, none });
    const limit = answer.limit_bytes === null ? '' : ` of ${sizeText(answer.limit_bytes)}`;
    if (answer.datasets.length > 0) remote.terminal.err(`${sizeText(answer.stored_bytes)}${limit} stored\n`);
  },
};

const push: RemoteSpec = {
  name: 'push',
  description: 'Store a folder or file of training data. Only new files are sent',
  examples: ['trainyard data push ./cats', 'trainyard data push /data/cats --name cats --keep'],
  shape: command =>
    command
      .argument('<path>', 'folder or file to store')
      .option('--name <name>', 'name of the dataset (default: the name of the folder)')
      .option('--keep', 'pin this version, so that it is kept even if no job uses it'),
  async act(remote, [path = '']) {
    const { flags } = remote;
    const name = readInput(DatasetName, textOf(flags, 'name') ?? basename(resolve(path)), { '': '--name' });
    const folder = await indexData(remote, path);
    const { dataset, sent } = await pushData(remote, folder, { name, isPinned: isOn(flags, 'keep') });
    printOne(remote, {
      answer: { ...dataset, sent_files: sent.files, sent_bytes: sent.bytes, skipped_files: folder.skipped },
      facts: [
        ['Dataset', dataset.name],
        ['Version', dataset.version.slice(0, 12)],
        ['Size', `${dataset.files} files, ${sizeText(dataset.bytes)}`],
        [
          'Sent',
          sent.files === 0
            ? 'nothing, all files are already stored'
            : `${sent.files} files, ${sizeText(sent.bytes)}`,
        ],
      ],
    });
  },
};

const pin: RemoteSpec = {
  name: 'pin',
  description: 'Pin a version of a dataset, so that it is kept even if no job uses it',
  shape: command =>
    command
      .argument('<dataset>', 'dataset name for its newest version, or NAME@VERSION')
      .option('--remove', 'remove the pin'),
  async act(remote, [word = '']) {
    const { id } = await findVersion(remote, word);
    const pinned = !isOn(remote.flags, 'remove');
    const answer = await remote.request(datasetsApi.pin, { params: { id }, body: { pinned } });
    const what = `${answer.name}@${answer.version.slice(0, 12)}`;
    printOne(remote, { answer, facts: [[pinned ? 'Pinned' : 'Unpinned', what]] });
  },
};

/** Ends the command if no dataset has this name, or datasets of several owners have it. */
async function findVersion(remote: Remote, word: string): Promise<DatasetView> {
  const [, name = word, version = ''] = /^(.+)@([0-9a-f]{4,64})$/.exec(word) ?? [];
  const { datasets } = await remote.request(datasetsApi.list, { query: { name, all: 'true' } });
  const matches = datasets.filter(each => (version === '' ? each.newest : each.version.startsWith(version)));
  const [one] = matches;
  if (one === undefined)
    return fail(
      exitCodes.notFound,
      `No dataset "${word}". To list datasets, run "trainyard data list --all"`,
    );
  if (new Set(matches.map(({ owner }) => owner)).size === 1) return one;
  const owners = matches.map(({ owner }) => owner).join(', ');
  return fail(
    exitCodes.usage,
    `Several users have a dataset ${word}: ${owners}. Use the token of the one you mean`,
  );
}

const prune: RemoteSpec = {
  name: 'prune',
  description:
    'Remove unused older versions of all datasets; with names, all unused versions of only these datasets',
  shape: command =>
    command
      .argument('[name...]', 'datasets whose unused versions to remove')
      .option('-n, --dry-run', 'print what would be removed, without removing it')
      .option('--yes', 'skip the confirmation'),
  async act(remote, names) {
    const body = names.length === 0 ? {} : { names: [...names] };
    const preview = await remote.request(datasetsApi.prune, { body: { ...body, dry_run: true } });
    const none =
      names.length === 0
        ? 'Nothing to remove: versions in use, pinned versions and the newest versions stay'
        : 'Nothing to remove: versions in use and pinned versions stay';
    if (isOn(remote.flags, 'dry-run') || preview.removed.length === 0)
      return printRows(remote, { answer: preview, rows: preview.removed, columns, none });
    const { length } = preview.removed;
    const what = `${length} dataset ${length === 1 ? 'version' : 'versions'}`;
    await remote.confirm(`Remove ${what}? Files in no other version are deleted.`);
    const answer = await remote.request(datasetsApi.prune, { body });
    printRows(remote, { answer, rows: answer.removed, columns, none });
    remote.terminal.err('Removed\n');
  },
};

/** Subcommands of `trainyard data`, in the order of the help. */
export const dataCommands: readonly RemoteSpec[] = [list, push, pin, prune];
