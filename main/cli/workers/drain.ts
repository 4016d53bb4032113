import { workersApi } from '../../../protocol/admin-api.ts';
import { numberOf, textOf, timeSpan } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, showWorker, takesWorker } from './find.ts';

export const drain: RemoteSpec = {
  name: 'drain',
  description: 'Drain a worker: it finishes its job and gets no other',
  shape: command =>
    takesWorker(command)
      .option('--reason <text>', 'note to show with the worker')
      .option('--deadline <time>', 'requeue the job if it still runs after this time, such as 30m', timeSpan),
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    const body = { reason: textOf(remote.flags, 'reason'), deadline_s: numberOf(remote.flags, 'deadline') };
    showWorker(remote, await remote.ask(workersApi.drain, { params: { id }, body }));
  },
};

export const undrain: RemoteSpec = {
  name: 'undrain',
  description: 'End the drain of a worker',
  shape: takesWorker,
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.ask(workersApi.undrain, { params: { id } }));
  },
};

export const unquarantine: RemoteSpec = {
  name: 'unquarantine',
  description: 'Release a worker from quarantine',
  shape: takesWorker,
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.ask(workersApi.unquarantine, { params: { id } }));
  },
};
