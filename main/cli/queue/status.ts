import { queueApi } from '../../../protocol/queue-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { queueFacts } from './text.ts';

export const status: RemoteSpec = {
  name: 'status',
  description: 'Show whether jobs are given out, and how many wait and run',
  async act(remote) {
    const answer = await remote.ask(queueApi.status);
    printOne(remote, { answer, facts: queueFacts(answer) });
  },
};
