import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { type AgentConfig, readToken } from './config.ts';
import { openOwnTokens } from './own-tokens.ts';
import { isRunning, type Processes, refOf } from './processes.ts';
import { trainerProbe } from './trainer.ts';
import { probeTrainers } from './trainers/index.ts';
import { readFields } from './whole-file.ts';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The PATH of the service: that of the caller, whose active Python environment comes first. A service manager's own PATH has neither.
 * Relative folders would depend on where the service starts, so they are left out.
 */
export function servicePath(env: Env, platform: NodeJS.Platform = process.platform): string | null {
  // A task of Windows has the environment of its user.
  if (platform === 'win32') return null;
  const active = [env['VIRTUAL_ENV'], env['CONDA_PREFIX']].flatMap(folder =>
    folder ? [join(folder, 'bin')] : [],
  );
  const folders = [...active, ...(env['PATH'] ?? '').split(delimiter)];
  const usable = folders.filter(folder => isAbsolute(folder) && !/[\p{Cc}]/u.test(folder));
  return usable.length === 0 ? null : [...new Set(usable)].join(delimiter);
}

/**
 * The state folder of the service: the one that this worker has used already, with the token it joined with, or else `own`. A worker
 * with a token from outside needs no such token: its folder has its instance id and its runs.
 */
export function serviceFolder(own: string, earlier: string, hasGivenToken: boolean): string {
  const files = hasGivenToken ? ['token', 'instance'] : ['token'];
  const isUsed = (folder: string): boolean => files.some(file => existsSync(join(folder, file)));
  return isUsed(own) || !isUsed(earlier) ? own : earlier;
}

export interface Start {
  readonly config: Pick<AgentConfig, 'name' | 'token' | 'trainers'>;
  /** As `--trainer` was given. */
  readonly trainerTexts: readonly string[];
  readonly folder: string;
  readonly path: string | null;
  readonly env: Env;
}

/** Why a worker that is started like that would end at once, or run no job; null when nothing is known against it. */
export async function findStartTrouble(start: Start): Promise<string | null> {
  const { config, trainerTexts, folder, path, env } = start;
  const tokenTrouble = findTokenTrouble(config, folder);
  if (tokenTrouble !== null) return tokenTrouble;
  const relative = findRelativeTrainer(trainerTexts);
  if (relative !== null)
    return `Give --trainer ${relative} with its whole path: a service starts in another folder`;
  const probed = await probeTrainers(config.trainers, trainerProbe({ ...env, PATH: path ?? env['PATH'] }));
  const problems = probed.flatMap(({ problem }) => problem ?? []);
  return problems.length === 0 ? null : problems.join('. ');
}

function findTokenTrouble({ name, token }: Start['config'], folder: string): string | null {
  if (token !== null) {
    const read = readToken(token);
    return read.ok ? null : read.message;
  }
  const own = openOwnTokens(folder).read();
  if (!own.ok) return own.message;
  if (own.value.joined !== null || own.value.pending !== null) return null;
  return (
    `The worker ${name} has not joined yet: there is no token in ${folder}. Give a join token (SIMPLETUNER_WORKER_TOKEN, ` +
    'or --worker-token-file FILE). If it has joined as another user, install the service as that user with --user, or name its ' +
    'state folder with --state-dir'
  );
}

/** The first of these `--trainer` texts with a path that depends on the folder of the caller; null when there is none. */
function findRelativeTrainer(texts: readonly string[]): string | null {
  const isRelative = (text: string): boolean => {
    const [, name = '', where = text] = /^([a-z-]+)=(.*)$/s.exec(text) ?? [];
    const [program = ''] = where.replace(/^['"]/, '').split(/[\s'"]/, 1);
    const isPath = /[/\\]/.test(program) || (name !== '' && name !== 'command' && program !== '');
    return isPath && !isAbsolute(program);
  };
  return texts.find(isRelative) ?? null;
}

/** The process of a worker that uses the folder now, and would keep the service from it; null when there is none. */
export async function findRival(folder: string, processes: Processes): Promise<number | null> {
  const holder = refOf(readFields(join(folder, 'lock')));
  return holder !== null && (await isRunning(processes, holder)) ? holder.pid : null;
}
