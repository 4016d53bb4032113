import { backupApi } from '../../../protocol/backup-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const create: RemoteSpec = {
  name: 'create',
  description: 'Create and check a backup of the database',
  async act(remote) {
    const answer = await remote.ask(backupApi.make);
    printOne(remote, {
      answer,
      facts: [
        ['Backup', answer.name],
        ['Size', `${(answer.bytes / 1_048_576).toFixed(1)} MiB, checked`],
      ],
    });
  },
};
