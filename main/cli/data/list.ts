import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { isOn, textOf } from '../flags.ts';
import { sizeText } from '../jobs/text.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';
import { findWorker } from '../workers/find.ts';

export const columns: readonly Column<DatasetView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'VERSION', text: ({ version }) => version.slice(0, 12) },
  { title: 'OWNER', text: ({ owner }) => owner },
  { title: 'FILES', text: ({ files }) => String(files) },
  { title: 'SIZE', text: ({ bytes }) => sizeText(bytes) },
  { title: 'PUSHED', text: ({ created_at: at }) => `${at.slice(0, 16)}Z` },
  { title: 'JOBS', text: ({ jobs }) => String(jobs) },
  { title: 'PINNED', text: ({ pinned }) => (pinned ? 'yes' : '') },
];

export const list: RemoteSpec = {
  name: 'list',
  description: 'List the datasets, with the room that they take',
  shape: command =>
    command
      .option('--all', 'older versions, too')
      .option('--worker <worker>', 'only versions that the rig of this worker has'),
  async act(remote) {
    const all = isOn(remote.flags, 'all') ? 'true' : undefined;
    const word = textOf(remote.flags, 'worker');
    const worker = word === null ? null : await findWorker(remote, word);
    const answer = await remote.ask(datasetsApi.list, { query: { all, worker_id: worker?.id } });
    const none =
      worker === null
        ? 'There is no dataset yet: trainyard data push FOLDER stores one'
        : `The rig of ${worker.name} has no dataset`;
    printRows(remote, { answer, rows: answer.datasets, columns, none });
    const limit = answer.limit_bytes === null ? '' : ` of ${sizeText(answer.limit_bytes)}`;
    if (answer.datasets.length > 0) remote.terminal.err(`${sizeText(answer.stored_bytes)}${limit} stored\n`);
  },
};
