import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findJob } from './find.ts';

export const giveUp: RemoteSpec = {
  name: 'give-up',
  description: 'Stop waiting for files that the worker of a completed job has not uploaded',
  shape: command => takesJob(command, among.all).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { id, config_name: name } = await findJob(remote, word);
    await remote.confirm(
      `The server refuses all further uploads of the job ${id} (${name}); its files stay on the worker. Continue?`,
    );
    await remote.ask(artifactsApi.giveUp, { params: { id } });
    remote.terminal.err(`Stopped waiting for the outstanding files of job ${id}\n`);
  },
};
