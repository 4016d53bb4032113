import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findJob } from './find.ts';

export const giveUp: RemoteSpec = {
  name: 'give-up',
  description: 'Stop waiting for the files of a completed job that its worker has not uploaded',
  shape: command => takesJob(command, among.all).option('--yes', 'do not ask'),
  async act(remote, [word]) {
    const { id, config_name: name } = await findJob(remote, word);
    await remote.confirm(
      `The server refuses all further uploads of the job ${id} (${name}); its files stay on the worker. Go on?`,
    );
    await remote.ask(artifactsApi.giveUp, { params: { id } });
    remote.terminal.err(`The outstanding files of job ${id} are given up\n`);
  },
};
