import { type Command, InvalidArgumentError } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { exitCodes, fail } from '../failure.ts';
import { addLabel, numberOf, readInput, textOf, timeSpan } from '../flags.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findWorker, showWorker, withWorkerArgument } from './worker.ts';

type Labels = WorkerView['admin_labels'];

export interface LabelChanges {
  readonly set: Labels;
  readonly removed: readonly string[];
}

/** Collects `KEY=VALUE`, and `KEY-` to remove a label, as in kubectl. */
export function addChange(text: string, before: LabelChanges = { set: {}, removed: [] }): LabelChanges {
  const [, key] = /^([^=]+)-$/s.exec(text) ?? [];
  if (key === undefined && !/^[^=]+=/s.test(text))
    throw new InvalidArgumentError('Give KEY=VALUE to set a label, or KEY- to remove it.');
  const changes =
    key === undefined
      ? { ...before, set: addLabel(text, before.set) }
      : { ...before, removed: [...before.removed, key] };
  const conflict = changes.removed.find(name => Object.hasOwn(changes.set, name));
  if (conflict === undefined) return changes;
  throw new InvalidArgumentError(`A label cannot be set and removed at once: ${conflict}.`);
}

export const label: RemoteSpec = {
  name: 'label',
  description: 'Set or remove labels of a worker',
  shape: (command: Command) =>
    withWorkerArgument(command).argument(
      '<change...>',
      'KEY=VALUE to set a label, KEY- to remove it',
      addChange,
    ),
  async act(remote, [word, ...words]) {
    const changes = words.reduce<LabelChanges | undefined>(
      (before, text) => addChange(text, before),
      undefined,
    );
    const worker = await findWorker(remote, word);
    const labels = changedLabels(worker, changes ?? { set: {}, removed: [] });
    const body = readInput(workersApi.update.body, { labels }, { labels: 'KEY=VALUE' });
    showWorker(remote, await remote.request(workersApi.update, { params: { id: worker.id }, body }));
  },
};

/** Returns the admin labels after the changes. Ends the command if a removed label was set by the worker itself. */
function changedLabels(
  { name, labels, admin_labels: adminLabels }: WorkerView,
  { set, removed }: LabelChanges,
): Labels {
  const foreign = removed.find(key => Object.hasOwn(labels, key) && !Object.hasOwn(adminLabels, key));
  if (foreign !== undefined)
    return fail(
      exitCodes.conflict,
      `${name} sets the label ${foreign} itself. Remove it from the options of the worker, or override it with another value`,
    );
  const remainingLabels = Object.entries(adminLabels).filter(([key]) => !removed.includes(key));
  return { ...Object.fromEntries(remainingLabels), ...set };
}

export const rename: RemoteSpec = {
  name: 'rename',
  description: 'Rename a worker',
  shape: command => withWorkerArgument(command).argument('<name>', 'new name'),
  async act(remote, [word, name]) {
    const body = readInput(workersApi.update.body, { name }, { name: 'NAME' });
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.request(workersApi.update, { params: { id }, body }));
  },
};

export const drain: RemoteSpec = {
  name: 'drain',
  description: 'Drain a worker: it finishes its job and gets no new one',
  shape: command =>
    withWorkerArgument(command)
      .option('--reason <text>', 'note to show with the worker')
      .option('--deadline <time>', 'requeue the job if it still runs after this time, such as 30m', timeSpan),
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    const body = { reason: textOf(remote.flags, 'reason'), deadline_s: numberOf(remote.flags, 'deadline') };
    showWorker(remote, await remote.request(workersApi.drain, { params: { id }, body }));
  },
};

export const undrain: RemoteSpec = {
  name: 'undrain',
  description: 'End the drain of a worker',
  shape: withWorkerArgument,
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.request(workersApi.undrain, { params: { id } }));
  },
};

export const unquarantine: RemoteSpec = {
  name: 'unquarantine',
  description: 'Release a worker from quarantine',
  shape: withWorkerArgument,
  async act(remote, [word]) {
    const { id } = await findWorker(remote, word);
    showWorker(remote, await remote.request(workersApi.unquarantine, { params: { id } }));
  },
};

export const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete an offline worker and revoke its token',
  shape: command => withWorkerArgument(command).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { id, name } = await findWorker(remote, word);
    await remote.confirm(`Delete worker ${name} (${id})? Its token stops working.`);
    const answer = await remote.request(workersApi.remove, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${id})`]] });
  },
};
