import { queueApi } from '../../../protocol/queue-api.ts';
import type { RequestKind } from '../../../protocol/requests.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findJob, showJob } from './find.ts';

/** The command does not wait: the trainer creates the checkpoint or samples later. */
const specOf = (what: RequestKind, description: string, wanted: string): RemoteSpec => ({
  name: what,
  description,
  shape: command => takesJob(command, among.running),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.running);
    const asked = await remote.ask(queueApi.ask, { params: { id }, body: { what } });
    const worker = asked.worker_name ?? 'Its worker';
    const when = asked.duplicate ? 'was asked a moment ago' : 'is asked';
    remote.terminal.err(`${worker} ${when} for ${wanted}, which will be among the files of the job\n`);
    showJob(remote, asked);
  },
});

export const save = specOf(
  'save',
  'Request a checkpoint from a running job of SimpleTuner or OneTrainer, or one with $requests in its config',
  'a checkpoint',
);

export const sample = specOf(
  'sample',
  'Request samples from a running job of SimpleTuner or OneTrainer, or one with $requests in its config',
  'samples',
);
