import { poolsApi } from '../../../protocol/pools-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { textOf } from '../flags.ts';
import { readConfig } from '../jobs/config-source.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { findPool, showPool, withPoolArgument } from './pool.ts';
import { changesNothing, type PoolBase, readPool, withPoolSettings } from './settings.ts';

const noun = { noun: 'pool', remedy: 'Give a local file, or - for standard input' } as const;

type FileBase = PoolBase & { readonly name: unknown };

/** Reads the settings from `--file`; without the option, returns empty settings. */
async function readFile({ flags, terminal }: Remote): Promise<FileBase> {
  const path = textOf(flags, 'file');
  if (path === null) return { name: undefined, engine: {}, settings: {} };
  const { label, config } = await readConfig(path, terminal, noun);
  const { name, engine = {}, ...settings } = config;
  if (typeof engine !== 'object' || engine === null || Array.isArray(engine))
    return fail(exitCodes.usage, `${label}: engine must be an object such as {"kind": "slurm"}`);
  return { name, engine: { ...engine }, settings };
}

export const create: RemoteSpec = {
  name: 'create',
  description: 'Create a pool. To check its engine, run "pools check"',
  examples: [
    'trainyard pools create gpu --engine slurm --login me@login.example.org --gpus 4',
    'trainyard pools create cloud --engine command --programs skypilot --gpu-hours-per-day 50',
    'trainyard pools create gpu --file pool.yaml',
  ],
  shape: command =>
    withPoolSettings(command.argument('[name]', 'name of the pool (default: the name in the file)'), false),
  async act(remote, [word]) {
    const file = await readFile(remote);
    const body = readPool(word ?? file.name, file, remote.flags);
    showPool(remote, await remote.request(poolsApi.create, { body }));
    remote.terminal.err(`To test the pool, run "trainyard pools test ${body.name}"\n`);
  },
};

export const set: RemoteSpec = {
  name: 'set',
  description: 'Change settings of a pool, and keep all others. Open launches keep the old settings',
  examples: [
    'trainyard pools set gpu --max-launches 8 --wall-time 12h',
    'trainyard pools set gpu --hours "20:00-08:00 Europe/Berlin" --max-gpus none',
  ],
  shape: command =>
    withPoolSettings(withPoolArgument(command).option('--name <name>', 'new name of the pool'), true),
  async act(remote, [word]) {
    const { flags } = remote;
    if (changesNothing(flags))
      fail(exitCodes.usage, 'Give at least one setting to change, such as --max-launches 8');
    const file = await readFile(remote);
    const pool = await findPool(remote, word);
    const isSameEngine = (file.engine['kind'] ?? pool.engine.kind) === pool.engine.kind;
    const base = {
      engine: isSameEngine ? { ...pool.engine, ...file.engine } : file.engine,
      settings: { ...pool.settings, ...file.settings },
    };
    const body = readPool(textOf(flags, 'name') ?? file.name ?? pool.name, base, flags);
    showPool(remote, await remote.request(poolsApi.update, { params: { id: pool.pool_id }, body }));
  },
};
