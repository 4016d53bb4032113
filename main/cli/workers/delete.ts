import { workersApi } from '../../../protocol/admin-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, takesWorker } from './find.ts';

export const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a worker that is offline; its token is dead then',
  shape: command => takesWorker(command).option('--yes', 'do not ask'),
  async act(remote, [word]) {
    const { id, name } = await findWorker(remote, word);
    await remote.confirm(`Delete the worker ${name} (${id})? Its token will be dead.`);
    const answer = await remote.ask(workersApi.remove, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${id})`]] });
  },
};
