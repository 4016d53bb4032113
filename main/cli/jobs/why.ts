import { queueApi } from '../../../protocol/queue-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { explanationFacts } from './explanation.ts';
import { findJob } from './find.ts';

export const why: RemoteSpec = {
  name: 'why',
  description: 'Explain why a job is pending and when it may start',
  shape: command => takesJob(command, among.unended),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.unended, { newest: true });
    const answer = await remote.ask(queueApi.explain, { params: { id } });
    printOne(remote, { answer, facts: explanationFacts(answer) });
  },
};
