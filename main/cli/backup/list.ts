import { backupApi, type BackupView } from '../../../protocol/backup-api.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';

const columns: readonly Column<BackupView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'KIND', text: ({ kind }) => kind },
  { title: 'MADE', text: ({ at }) => at },
  { title: 'MIB', text: ({ bytes }) => (bytes / 1_048_576).toFixed(1) },
];

export const list: RemoteSpec = {
  name: 'list',
  description: 'List backups, newest first',
  async act(remote) {
    const answer = await remote.ask(backupApi.list);
    const none =
      'No backups. The server creates one every hour. To create one now, run "trainyard backup create"';
    printRows(remote, { answer, rows: answer.backups, columns, none });
  },
};
