import type { Command } from 'commander';
import type { LaunchView, PoolView } from '../../../protocol/pool.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { choose } from '../choose.ts';
import { CommandEnd } from '../failure.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';
import type { Column, Fact } from '../table.ts';
import { timeText } from '../time.ts';
import { settingLines } from './settings.ts';

/** Adds a pool argument. Completion recognises the argument by its name. */
export const withPoolArgument = (command: Command): Command =>
  command.argument('<pool>', 'pool name, id, or the start of an id');

/** Finds the pool with this name or id; ends the command when there is none. */
export async function findPool({ request }: Remote, word = ''): Promise<PoolView> {
  const { pools } = await request(poolsApi.list);
  const identify = ({ pool_id: id, name }: PoolView) => ({ id, name });
  const choice = choose(word, pools, { what: 'pool', identify });
  if (choice.ok) return choice.value;
  throw new CommandEnd(choice.failure);
}

/** Adds a launch argument. Completion recognises the argument by its name. */
export const withLaunchArgument = (command: Command): Command =>
  command.argument('<launch>', 'launch id, the start of an id, or the name of its worker');

/** Fetches the newest launches of all pools. */
export async function recentLaunches({ request }: Remote): Promise<readonly LaunchView[]> {
  const { pools } = await request(poolsApi.list);
  const answers = await Promise.all(
    pools.map(({ pool_id: id }) => request(poolsApi.launches, { params: { id }, query: { limit: 500 } })),
  );
  return answers.flatMap(({ launches }) => launches);
}

/** Finds the launch with this id or worker name; ends the command when there is none. */
export async function findLaunch(remote: Remote, word = ''): Promise<LaunchView> {
  const identify = ({ launch_id: id, worker_name: name }: LaunchView) => ({ id, name });
  const list = { nouns: 'launches', command: 'trainyard pools launches POOL' };
  const choice = choose(word, await recentLaunches(remote), { what: 'launch', identify, list });
  if (choice.ok) return choice.value;
  throw new CommandEnd(choice.failure);
}

export const showPool = (remote: Remote, pool: PoolView): void =>
  printOne(remote, { answer: pool, facts: poolFacts(pool) });

export const poolColumns: readonly Column<PoolView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'ENGINE', text: ({ engine }) => engine.kind, importance: 3 },
  { title: 'STATUS', text: pool => poolStatus(pool) },
  {
    title: 'LAUNCHES',
    text: ({ open, settings }) => `${open.launches}/${settings.max_launches}`,
    importance: 5,
  },
  { title: 'WAITING', text: ({ open }) => String(open.waiting), importance: 2 },
  { title: 'GPUS', text: ({ open }) => String(open.gpus), importance: 4 },
  { title: 'GPU-HOURS TODAY', text: ({ usage }) => hoursText(usage.gpu_hours_today), importance: 1 },
  { title: 'DETAILS', text: pool => troubleOf(pool), minWidth: 24 },
];

export function poolStatus({ paused, unreachable }: PoolView): string {
  if (paused !== null) return 'paused';
  return unreachable === null ? 'ready' : 'unreachable';
}

/**
 * Describes why the pool cannot order machines, or no machines of some shape, such as "4 GPUs". Empty if nothing prevents orders.
 */
function troubleOf({ paused, unreachable, impossible }: PoolView): string {
  if (paused !== null) return `by ${paused.by}${paused.reason === '' ? '' : `: ${paused.reason}`}`;
  if (unreachable !== null) return unreachable.detail;
  return impossible.map(({ shape, message }) => `no ${shape}: ${message}`).join('; ');
}

/** @internal */
export const poolFacts = (pool: PoolView): readonly Fact[] => {
  const { name, pool_id: id, engine, open, settings, usage, paused, unreachable, impossible } = pool;
  return [
    ['Pool', `${name} (${id})`],
    ['Engine', engine.kind],
    ['Status', poolStatus(pool)],
    [
      'Paused',
      paused && `${paused.since} by ${paused.by}${paused.reason === '' ? '' : `: ${paused.reason}`}`,
    ],
    ['Unreachable', unreachable && `since ${unreachable.since}: ${unreachable.detail}`],
    [
      'Refused',
      impossible.map(({ shape, message, since }) => `${shape}: ${message} (${since})`).join('\n') || null,
    ],
    [
      'Launches',
      `${open.launches} of at most ${settings.max_launches}: ${open.waiting} waiting, ${open.joined} joined, ${open.gpus} GPUs`,
    ],
    ['Today', usageText(usage.gpu_hours_today, usage.cost_today)],
    ['30 days', usageText(usage.gpu_hours_30_days, usage.cost_30_days)],
    ['Created', pool.created_at],
    ['Settings', settingLines(pool).join('\n') || 'defaults'],
  ];
};

const hoursText = (hours: number): string => hours.toFixed(1);

const usageText = (hours: number, cost: number | null): string =>
  `${hoursText(hours)} GPU-hours${cost === null ? '' : `, cost ${cost.toFixed(2)}`}`;

export const launchColumns: readonly Column<LaunchView>[] = [
  { title: 'ID', text: ({ launch_id: id }) => id },
  { title: 'STATUS', text: launch => launchStatus(launch) },
  { title: 'GPUS', text: launch => machineText(launch), importance: 4 },
  { title: 'WORKER', text: ({ worker_name: name }) => name, importance: 3 },
  { title: 'JOB', text: ({ job_id: id, is_test: isTest }) => id ?? (isTest ? 'test' : '-'), importance: 2 },
  { title: 'ENGINE ID', text: ({ engine_id: id }) => id ?? '-', importance: 1 },
  { title: 'MACHINES', text: ({ machines }) => machines.join(' ') || '-', importance: 1 },
  { title: 'ORDERED', text: ({ ordered_at: at }, isScreen) => timeText(at, isScreen), importance: 5 },
  { title: 'DETAILS', text: launch => launchDetail(launch), minWidth: 24 },
];

const machineText = ({ nodes, gpus }: LaunchView): string =>
  nodes === 1 ? String(gpus) : `${nodes} x ${gpus}`;

/** Returns the state of an open launch, or the outcome of an ended launch. */
export const launchStatus = ({ state, outcome }: LaunchView): string =>
  (outcome ?? state).replaceAll('_', ' ');

/** Returns the reason for the launch's state, and when it is expected to start. */
export function launchDetail({ reason, detail, expected_start: start }: LaunchView): string {
  const why = reason === null ? (detail ?? '') : `${reason.text} (${reason.kind})`;
  const parts = [why, start === null ? '' : `expected start ${start}`];
  return parts.filter(part => part !== '').join(', ');
}

export const launchFacts = (launch: LaunchView): readonly Fact[] => [
  ['Launch', launch.launch_id],
  ['Pool', launch.pool],
  ['Status', launchStatus(launch)],
  ['Details', launchDetail(launch) || null],
  ['Engine id', launch.engine_id],
  ['Machines', launch.machines.join(', ') || null],
  ['GPUs', machineText(launch)],
  ['Worker', `${launch.worker_name} (${launch.worker_id})`],
  ['Job', launch.job_id],
  ['Ordered', launch.ordered_at],
];
