import { queueApi } from '../../../protocol/queue-api.ts';
import { textOf } from '../flags.ts';
import { readInput } from '../input.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findJob, showJob } from './find.ts';

export const approve: RemoteSpec = {
  name: 'approve',
  description: 'Approve a job, so that it can run',
  shape: command => takesJob(command, among.blocked),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.blocked);
    showJob(remote, await remote.ask(queueApi.approve, { params: { id } }));
  },
};

export const reject: RemoteSpec = {
  name: 'reject',
  description: 'Reject a job that needs approval; it fails',
  shape: command =>
    takesJob(command, among.blocked).option('--reason <text>', 'reason for the user who submitted the job'),
  async act(remote, [word]) {
    const reason = textOf(remote.flags, 'reason') ?? undefined;
    const query = readInput(queueApi.reject.query, { reason }, { reason: '--reason' });
    const { id } = await findJob(remote, word, among.blocked);
    showJob(remote, await remote.ask(queueApi.reject, { params: { id }, query }));
  },
};
