import { workersApi } from '../../../protocol/admin-api.ts';
import { readInput } from '../input.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, showWorker, takesWorker } from './find.ts';

export const rename: RemoteSpec = {
  name: 'rename',
  description: 'Rename a worker',
  shape: command => takesWorker(command).argument('<name>', 'new name'),
  async act(remote, [word, name]) {
    const body = readInput(workersApi.update.body, { name }, { name: 'NAME' });
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.ask(workersApi.update, { params: { id }, body }));
  },
};
