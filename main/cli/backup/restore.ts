import { backupApi } from '../../../protocol/backup-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

/** The server copies and checks a large database twice: the current one and its replacement. */
const patienceMs = 290_000;

export const restore: RemoteSpec = {
  name: 'restore',
  description:
    'Put a backup in the place of the database, on the running server; what there is now is kept as a backup',
  shape: command =>
    command.argument('<backup>', 'its name, as in trainyard backup list').option('--yes', 'do not ask'),
  async act(remote, [wanted = '']) {
    const { backups } = await remote.ask(backupApi.list);
    const backup =
      backups.find(({ name }) => name === wanted) ??
      fail(exitCodes.notFound, `There is no backup ${wanted}: trainyard backup list shows what there is`);
    await remote.confirm(
      `Restore ${backup.name}, made at ${backup.at}? What has changed since then goes out of use, jobs and tokens included.`,
    );
    remote.terminal.err(
      'Checks the backup, keeps what there is now, and changes over: workers train on meanwhile\n',
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
        ['As it was', answer.restored.at],
        ['Kept', `${answer.saved.name}, what there was until now`],
      ],
    });
    remote.terminal.err(`To take it back: trainyard backup restore ${answer.saved.name}\n`);
  },
};
