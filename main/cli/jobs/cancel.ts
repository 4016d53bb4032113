import { isWaiting } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findJob, showJob } from './find.ts';

export const cancel: RemoteSpec = {
  name: 'cancel',
  description: 'Cancel a job, a running one too',
  shape: command => takesJob(command, among.unended).option('--yes', 'do not ask'),
  async act(remote, [word]) {
    const { id, status, config_name: name, worker_name: worker } = await findJob(remote, word, among.unended);
    if (!isWaiting(status))
      await remote.confirm(`Stop the job ${id} (${name}), which is ${status} on ${worker ?? 'its worker'}?`);
    showJob(remote, await remote.ask(queueApi.cancel, { params: { id } }));
  },
};

export const release: RemoteSpec = {
  name: 'release',
  description: 'Wait no longer for a silent worker: the job goes to another one, or ends as cancelled',
  shape: command => takesJob(command, among.unended).option('--yes', 'do not ask'),
  async act(remote, [word]) {
    const { id, status, worker_name: worker } = await findJob(remote, word, among.unended);
    const next = status === 'cancelling' ? 'ends as cancelled' : 'goes to another worker';
    await remote.confirm(
      `The job ${id} ${next}, and ${worker ?? 'its worker'} may still train it for now. Go on?`,
    );
    showJob(remote, await remote.ask(queueApi.release, { params: { id } }));
  },
};
