import { workersApi } from '../../../protocol/admin-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, takesWorker } from './find.ts';

export const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete an offline worker and revoke its token',
  shape: command => takesWorker(command).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { id, name } = await findWorker(remote, word);
    await remote.confirm(`Delete worker ${name} (${id})? Its token stops working.`);
    const answer = await remote.ask(workersApi.remove, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${id})`]] });
  },
};
