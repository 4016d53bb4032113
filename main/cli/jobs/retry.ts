import { queueApi } from '../../../protocol/queue-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findJob } from './find.ts';
import { concludeSubmission, mayWait } from './submission.ts';

export const retry: RemoteSpec = {
  name: 'retry',
  description: 'Submit an ended job again, as a new job with the same config',
  shape: command => mayWait(takesJob(command, among.ended)),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.ended);
    await concludeSubmission(remote, await remote.ask(queueApi.retry, { params: { id } }));
  },
};
