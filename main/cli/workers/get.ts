import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, showWorker, takesWorker } from './find.ts';

export const get: RemoteSpec = {
  name: 'get',
  description: 'Show a worker',
  shape: takesWorker,
  act: async (remote, [word]) => showWorker(remote, await findWorker(remote, word)),
};
