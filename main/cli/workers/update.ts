import { InvalidArgumentError, Option } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { UpdateAnswer } from '../../../protocol/worker-update.ts';
import { workerUpdatesApi } from '../../../protocol/worker-updates-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, numberOf, textOf, wholeNumber } from '../flags.ts';
import { live } from '../live.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { findWorker } from './worker.ts';

/** The result for one worker. `state` is `updated`, `requested`, `refused`, or the state of the update order. */
interface Result {
  readonly worker_id: string;
  readonly name: string;
  readonly state: string;
  readonly version: string | null;
  readonly detail: string | null;
  readonly [field: string]: unknown;
}

const columns: readonly Column<Result>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'STATE', text: ({ state }) => state },
  { title: 'VERSION', text: ({ version }) => version ?? '-' },
  { title: 'DETAIL', text: ({ detail }) => detail ?? '', minWidth: 16 },
];

/** Reasons for which the server refuses an update that the user can still make by hand on the worker's machine. */
const manualOnly: readonly (string | null)[] = ['off', 'insecure', 'read_only', 'too_old'];

export const update: RemoteSpec = {
  name: 'update',
  description: "Update workers to the server's version, a few at a time",
  examples: ['trainyard workers update rig-1 rig-2', 'trainyard workers update --all --when now --at-once 2'],
  shape: command =>
    command
      .argument('[worker...]', 'worker names, ids, or the starts of ids')
      .option('--all', 'all workers that can be updated')
      .addOption(
        new Option('--when <when>', 'idle: after the running job; now: immediately, while the job continues')
          .choices(['idle', 'now'])
          .default('idle'),
      )
      .option('--at-once <count>', 'how many workers restart at the same time (default: 1)', parseAtOnce)
      .option('--no-wait', 'request the updates, and do not wait for them'),
  async act(remote, words) {
    const all = isOn(remote.flags, 'all');
    if (all === words.length > 0) fail(exitCodes.usage, 'Give the workers to update, or --all');
    const workers: WorkerId[] = [];
    for (const word of words) workers.push((await findWorker(remote, word)).id);
    const body = {
      ...(all ? { all } : { workers }),
      when: textOf(remote.flags, 'when') === 'now' ? ('now' as const) : ('idle' as const),
      at_once: numberOf(remote.flags, 'at-once') ?? 1,
    };
    const { workers: answers, command } = await remote.request(workerUpdatesApi.request, { body });
    const accepted = answers.filter(answer => answer.accepted);
    const waits = remote.flags['no-wait'] !== false && accepted.length > 0;
    const views = waits ? await followUpdates(remote, accepted) : new Map<string, WorkerView>();
    const results = answers.map(answer => resultOf(answer, views.get(answer.worker_id)));
    printRows(remote, {
      answer: { workers: results },
      rows: results,
      columns,
      none: 'All workers are up to date',
    });
    if (command !== null && answers.some(({ refusal }) => manualOnly.includes(refusal)))
      remote.terminal.err(`To update a worker by hand, run this on its machine:\n  ${command}\n`);
    const failedCount = results.filter(({ state }) =>
      ['refused', 'failed', 'stopped'].includes(state),
    ).length;
    if (failedCount > 0)
      fail(exitCodes.failed, `${failedCount} of ${results.length} workers were not updated`);
  },
};

function parseAtOnce(text: string): number {
  const count = wholeNumber(text);
  if (count < 1 || count > 64) throw new InvalidArgumentError('Give a number from 1 to 64.');
  return count;
}

function resultOf(answer: UpdateAnswer, view: WorkerView | undefined): Result {
  const { worker_id, name } = answer;
  if (!answer.accepted) return { worker_id, name, state: 'refused', version: null, detail: answer.detail };
  if (view === undefined)
    return { worker_id, name, state: 'requested', version: null, detail: answer.detail };
  const order = view.update?.order ?? null;
  const version = view.agent_version;
  return { worker_id, name, state: order?.state ?? 'updated', version, detail: order?.reason ?? null };
}

/** States of an update that has ended; undefined after success, because the order is then removed. */
const finalStates: readonly (string | undefined)[] = [undefined, 'failed', 'stopped'];

/** Prints each change to stderr until all updates have ended. Resolves to the last known view of each worker, by id. */
function followUpdates(
  remote: Remote,
  accepted: readonly UpdateAnswer[],
): Promise<ReadonlyMap<string, WorkerView>> {
  const pendingIds = new Set<string>(accepted.map(({ worker_id: id }) => id));
  const views = new Map<string, WorkerView>();
  const shown = new Map<string, string>();
  const note = (worker: WorkerView): void => {
    views.set(worker.id, worker);
    const order = worker.update?.order ?? null;
    const text = order === null ? `updated to ${worker.agent_version ?? '?'}` : stateTexts[order.state];
    if (shown.get(worker.id) !== text) remote.terminal.err(`${worker.name}: ${text}\n`);
    shown.set(worker.id, text);
  };
  const isOver = (): boolean =>
    [...pendingIds].every(id => views.has(id) && finalStates.includes(views.get(id)?.update?.order?.state));
  const readWorkers = async (): Promise<void> => {
    const { workers } = await remote.request(workersApi.list);
    for (const worker of workers) if (pendingIds.has(worker.id)) note(worker);
    const existing = new Set<string>(workers.map(({ id }) => id));
    for (const id of pendingIds) if (!existing.has(id)) pendingIds.delete(id);
  };
  return live(remote, async events => {
    // Read the workers only after the stream is open, so that no change is missed.
    await readWorkers();
    if (isOver()) return views;
    for await (const event of events) {
      if (event.kind === 'reset') await readWorkers();
      else if (event.kind === 'worker' && pendingIds.has(event.worker_id)) {
        if (event.worker === null) pendingIds.delete(event.worker_id);
        else note(event.worker);
      }
      if (isOver()) return views;
    }
    return null;
  });
}

const stateTexts = {
  queued: 'waits for its turn',
  waiting: 'waits for the end of its job',
  downloading: 'downloading',
  restarting: 'restarting',
  failed: 'failed',
  stopped: 'stopped',
} as const;
