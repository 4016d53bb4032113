import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { textOf } from '../flags.ts';
import { among, findJob, showJob, withJobArgument } from '../jobs/find.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const move: RemoteSpec = {
  name: 'move',
  description: 'Move a pending job directly before or after another one of the same priority',
  shape: command =>
    withJobArgument(command, among.pending)
      .option('--before <job>', 'move JOB directly before this job')
      .option('--after <job>', 'move JOB directly after this job'),
  async act(remote, [word]) {
    const before = textOf(remote.flags, 'before');
    const after = textOf(remote.flags, 'after');
    const target = before ?? after;
    if (target === null || (before !== null && after !== null))
      fail(exitCodes.usage, 'Specify either --before JOB or --after JOB');
    const { id } = await findJob(remote, word, among.pending);
    const { id: to } = await findJob(remote, target, among.pending);
    const body = before === null ? { after: to } : { before: to };
    showJob(remote, await remote.request(queueApi.move, { params: { id }, body }));
  },
};
