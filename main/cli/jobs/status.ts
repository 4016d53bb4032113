import { queueApi } from '../../../protocol/queue-api.ts';
import { printOne } from '../output.ts';
import { statsFacts } from '../queue/stats.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, JobArgument } from './argument.ts';
import { get } from './get.ts';

/** As in SimpleTuner: shows the whole queue, or one job if it is named. */
export const status: RemoteSpec = {
  name: 'status',
  description: 'Show queue statistics, or one job',
  shape: command => command.addArgument(new JobArgument(among.all, '[job]')),
  async act(remote, args) {
    if (args[0] !== undefined) return get.act(remote, args);
    const answer = await remote.ask(queueApi.stats);
    return printOne(remote, { answer, facts: statsFacts(answer) });
  },
};
