import { backupApi, type BackupView } from '../../protocol/backup-api.ts';
import { exitCodes, fail } from './failure.ts';
import { printOne, printRows } from './output.ts';
import type { RemoteSpec } from './remote-command.ts';
import type { Column } from './table.ts';

const columns: readonly Column<BackupView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'KIND', text: ({ kind }) => kind },
  { title: 'CREATED', text: ({ at }) => at },
  { title: 'MIB', text: ({ bytes }) => (bytes / 1_048_576).toFixed(1) },
];

const list: RemoteSpec = {
  name: 'list',
  description: 'List backups, newest first',
  async act(remote) {
    const answer = await remote.request(backupApi.list);
    const none =
      'No backups. The server creates one every hour. To create one now, run "trainyard backup create"';
    printRows(remote, { answer, rows: answer.backups, columns, none });
  },
};

const create: RemoteSpec = {
  name: 'create',
  description: 'Create and check a backup of the database',
  async act(remote) {
    const answer = await remote.request(backupApi.make);
    printOne(remote, {
      answer,
      facts: [
        ['Backup', answer.name],
        ['Size', `${(answer.bytes / 1_048_576).toFixed(1)} MiB, checked`],
      ],
    });
  },
};

/** The server copies and checks both the current database and the backup, which takes minutes for large databases. */
const timeoutMs = 290_000;

const restore: RemoteSpec = {
  name: 'restore',
  description: 'Restore a backup on the running server, after a backup of the current state',
  shape: command =>
    command
      .argument('<backup>', 'name of the backup, as "trainyard backup list" shows it')
      .option('--yes', 'skip the confirmation'),
  async act(remote, [word = '']) {
    const { backups } = await remote.request(backupApi.list);
    const backup =
      backups.find(({ name }) => name === word) ??
      fail(exitCodes.notFound, `No backup "${word}". To list backups, run "trainyard backup list"`);
    await remote.confirm(
      `Restore ${backup.name}, created at ${backup.at}? Later changes to jobs, workers and tokens are lost. The audit trail is kept.`,
    );
    remote.terminal.err(
      'Checking the backup, saving the current state, and restoring the backup. Workers keep training\n',
    );
    const answer = await remote.request(backupApi.restore, {
      params: { name: backup.name },
      body: { confirm: backup.name },
      timeoutMs,
    });
    printOne(remote, {
      answer,
      facts: [
        ['Restored', answer.restored.name],
        ['Created', answer.restored.at],
        ['Previous state', answer.saved.name],
      ],
    });
    remote.terminal.err(`To undo, run: trainyard backup restore ${answer.saved.name}\n`);
  },
};

/** Subcommands of `trainyard backup`, in the order of the help. */
export const backupCommands: readonly RemoteSpec[] = [list, create, restore];
