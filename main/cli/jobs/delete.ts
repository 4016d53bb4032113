import { queueApi } from '../../../protocol/queue-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { withYes } from './bulk.ts';
import { findJob } from './find.ts';

export const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete an ended job',
  shape: command => withYes(takesJob(command, among.ended)),
  async act(remote, [word]) {
    const { id, config_name: name } = await findJob(remote, word, among.ended);
    await remote.confirm(`Delete job ${id} (${name}) with its files and logs?`);
    const answer = await remote.ask(queueApi.remove, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', `${id} (${name})`]] });
  },
};
