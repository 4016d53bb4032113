import { poolsApi } from '../../../protocol/pools-api.ts';
import type { EngineCheck } from '../../../protocol/pool.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, numberOf, pageSize, readInput, textOf } from '../flags.ts';
import { printOne, printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { type Fact, plain } from '../table.ts';
import { create, set } from './change.ts';
import {
  findLaunch,
  findPool,
  launchColumns,
  launchFacts,
  poolColumns,
  showPool,
  withLaunchArgument,
  withPoolArgument,
} from './pool.ts';
import { test } from './test.ts';

const list: RemoteSpec = {
  name: 'list',
  description: 'List pools. Jobs prefer the first one that fits',
  async act(remote) {
    const answer = await remote.request(poolsApi.list);
    const none = 'No pools. To create one, run "trainyard pools create NAME --engine slurm"';
    printRows(remote, { answer, rows: answer.pools, columns: poolColumns, none });
  },
};

const get: RemoteSpec = {
  name: 'get',
  description: 'Show a pool, its use, and the settings that differ from the defaults',
  shape: withPoolArgument,
  act: async (remote, [word]) => showPool(remote, await findPool(remote, word)),
};

const launches: RemoteSpec = {
  name: 'launches',
  description: 'List the launches of a pool, newest first',
  shape: command =>
    withPoolArgument(command).option(
      '-l, --limit <count>',
      'maximum number of results, up to 500 (default: 50)',
      pageSize,
    ),
  async act(remote, [word]) {
    const { pool_id: id, name } = await findPool(remote, word);
    const limit = numberOf(remote.flags, 'limit') ?? undefined;
    const answer = await remote.request(poolsApi.launches, { params: { id }, query: { limit } });
    const none = `No launches. The pool orders machines when jobs need them. To try it, run "trainyard pools test ${name}"`;
    printRows(remote, { answer, rows: answer.launches, columns: launchColumns, none });
  },
};

const check: RemoteSpec = {
  name: 'check',
  description: 'Check that the engine of a pool is reachable and accepts orders',
  shape: withPoolArgument,
  async act(remote, [word]) {
    const { pool_id: id, name, engine } = await findPool(remote, word);
    const answer = await remote.request(poolsApi.check, { params: { id } });
    printOne(remote, { answer, facts: [['Pool', name], ['Engine', engine.kind], ...checkFacts(answer)] });
    if (!answer.ok) fail(exitCodes.failed, `The engine of pool ${name} does not accept orders`);
  },
};

const checkFacts = ({ ok, version, detail, queues }: EngineCheck): readonly Fact[] => [
  ['Accepts orders', ok ? 'yes' : 'no'],
  ['Version', version],
  ['Details', detail || null],
  ['Queues', queues.map(({ name, limits }) => `${name}  ${limits}`.trim()).join('\n') || null],
];

const pause: RemoteSpec = {
  name: 'pause',
  description: 'Stop ordering machines until "pools resume". Running machines continue',
  shape: command =>
    withPoolArgument(command)
      .option('--reason <text>', 'reason to show with the paused pool')
      .option('--end-launches', 'also end all launches: workers save, and their jobs return to the queue')
      .option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { flags } = remote;
    const endsLaunches = isOn(flags, 'end-launches');
    const body = readInput(
      poolsApi.pause.body,
      { reason: textOf(flags, 'reason') ?? undefined, end_launches: endsLaunches },
      { reason: '--reason' },
    );
    const { pool_id: id, name, open } = await findPool(remote, word);
    if (endsLaunches && open.launches > 0)
      await remote.confirm(
        `End all launches of pool ${name} (${open.launches})? Their jobs return to the queue.`,
      );
    showPool(remote, await remote.request(poolsApi.pause, { params: { id }, body }));
  },
};

const resume: RemoteSpec = {
  name: 'resume',
  description: 'Resume ordering machines, and try again the machines that the engine refused',
  shape: withPoolArgument,
  async act(remote, [word]) {
    const { pool_id: id } = await findPool(remote, word);
    showPool(remote, await remote.request(poolsApi.resume, { params: { id } }));
  },
};

const end: RemoteSpec = {
  name: 'end',
  description: 'End a launch. Its worker saves, and its job returns to the queue',
  shape: command => withLaunchArgument(command).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { launch_id: id, worker_name: worker, state } = await findLaunch(remote, word);
    if (state === 'ended') fail(exitCodes.conflict, `Launch ${id} (${plain(worker)}) has already ended`);
    await remote.confirm(`End launch ${id} (${worker})? If it has a job, the job returns to the queue.`);
    const answer = await remote.request(poolsApi.endLaunch, { params: { id } });
    printOne(remote, { answer, facts: launchFacts(answer) });
  },
};

const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a pool that has no open launches, with its list of past launches',
  shape: command => withPoolArgument(command).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { pool_id: id, name } = await findPool(remote, word);
    await remote.confirm(`Delete pool ${name}? It orders no more machines.`);
    const answer = await remote.request(poolsApi.remove, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${id})`]] });
  },
};

/** Subcommands of `trainyard pools`, in the order of the help. */
export const poolCommands: readonly RemoteSpec[] = [
  list,
  get,
  create,
  set,
  check,
  test,
  launches,
  end,
  pause,
  resume,
  remove,
];
