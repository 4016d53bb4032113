import { workersApi } from '../../../protocol/admin-api.ts';
import { numberOf, textOf, timeSpan } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, showWorker, takesWorker } from './find.ts';

export const drain: RemoteSpec = {
  name: 'drain',
  description: 'Let a worker finish its job, and give it no other',
  shape: command =>
    takesWorker(command)
      .option('--reason <text>', 'shown to everybody who looks at it')
      .option('--deadline <time>', 'such as 30m: what still runs then goes to another worker', timeSpan),
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    const body = { reason: textOf(remote.flags, 'reason'), deadline_s: numberOf(remote.flags, 'deadline') };
    showWorker(remote, await remote.ask(workersApi.drain, { params: { id }, body }));
  },
};

export const undrain: RemoteSpec = {
  name: 'undrain',
  description: 'Give a drained worker jobs again',
  shape: takesWorker,
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.ask(workersApi.undrain, { params: { id } }));
  },
};

export const unquarantine: RemoteSpec = {
  name: 'unquarantine',
  description: 'Give a quarantined worker jobs again',
  shape: takesWorker,
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.ask(workersApi.unquarantine, { params: { id } }));
  },
};
