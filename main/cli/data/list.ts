import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { sizeText } from '../../../protocol/size-text.ts';
import { isOn, textOf } from '../flags.ts';
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
  description: 'List datasets and their size',
  shape: command =>
    command
      .option('--all', 'also list older versions')
      .option('--worker <worker>', "only versions on this worker's rig"),
  async act(remote) {
    const all = isOn(remote.flags, 'all') ? 'true' : undefined;
    const word = textOf(remote.flags, 'worker');
    const worker = word === null ? null : await findWorker(remote, word);
    const answer = await remote.ask(datasetsApi.list, { query: { all, worker_id: worker?.id } });
    const none =
      worker === null
        ? 'No datasets yet. Store one with "trainyard data push FOLDER"'
        : `No datasets on the rig of ${worker.name}`;
    printRows(remote, { answer, rows: answer.datasets, columns, none });
    const limit = answer.limit_bytes === null ? '' : ` of ${sizeText(answer.limit_bytes)}`;
    if (answer.datasets.length > 0) remote.terminal.err(`${sizeText(answer.stored_bytes)}${limit} stored\n`);
  },
};
