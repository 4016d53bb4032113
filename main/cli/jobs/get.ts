import { queueApi } from '../../../protocol/queue-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findNewestJob } from './find.ts';
import { detailFacts } from './text.ts';

export const get: RemoteSpec = {
  name: 'get',
  description: 'Show a job and its attempts',
  shape: command => takesJob(command, among.all),
  async act(remote, [word]) {
    const { id } = await findNewestJob(remote, word);
    const job = await remote.ask(queueApi.get, { params: { id } });
    printOne(remote, { answer: job, facts: detailFacts(job) });
  },
};
