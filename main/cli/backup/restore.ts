import { backupApi } from '../../../protocol/backup-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

/** The server copies and checks a large database twice: the current one and its replacement. */
const patienceMs = 290_000;

export const restore: RemoteSpec = {
  name: 'restore',
  description: 'Restore a backup on the running server. The current state is backed up first',
  shape: command =>
    command
      .argument('<backup>', 'name of the backup, as "trainyard backup list" shows it')
      .option('--yes', 'skip the confirmation'),
  async act(remote, [wanted = '']) {
    const { backups } = await remote.ask(backupApi.list);
    const backup =
      backups.find(({ name }) => name === wanted) ??
      fail(exitCodes.notFound, `No backup "${wanted}". To list backups, run "trainyard backup list"`);
    await remote.confirm(
      `Restore ${backup.name}, made at ${backup.at}? All later changes are lost, including jobs and tokens.`,
    );
    remote.terminal.err(
      'Checking the backup, saving the current state, and restoring. Workers keep training\n',
    );
    const answer = await remote.ask(backupApi.restore, {
      params: { name: backup.name },
      body: { confirm: backup.name },
      timeoutMs: patienceMs,
    });
    printOne(remote, {
      answer,
      facts: [
        ['Restored', answer.restored.name],
        ['Restored to', answer.restored.at],
        ['Kept', `${answer.saved.name} (the state before)`],
      ],
    });
    remote.terminal.err(`To undo, run: trainyard backup restore ${answer.saved.name}\n`);
  },
};
