import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { type AgentConfig, readToken } from '../config/index.ts';
import { openOwnTokens } from '../session/worker-token.ts';
import { isRunning, type Processes, refOf } from '../process/processes.ts';
import { trainerProbe } from '../attempt/trainer.ts';
import { probeTrainers } from '../trainers/index.ts';
import { readFields } from '../files/whole-file.ts';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the PATH of the service: the active Python environment, then the caller's PATH. The service manager's own PATH
 * contains neither. Omits relative folders, because they would depend on the service's working folder. Null keeps the
 * service manager's own PATH.
 */
export function servicePath(env: Env, platform: NodeJS.Platform = process.platform): string | null {
  // A Windows task has its user's environment.
  if (platform === 'win32') return null;
  const active = [env['VIRTUAL_ENV'], env['CONDA_PREFIX']].flatMap(folder =>
    folder ? [join(folder, 'bin')] : [],
  );
  const folders = [...active, ...(env['PATH'] ?? '').split(delimiter)];
  const usable = folders.filter(folder => isAbsolute(folder) && !/[\p{Cc}]/u.test(folder));
  return usable.length === 0 ? null : [...new Set(usable)].join(delimiter);
}

/**
 * Returns the state folder of the service: `earlierFolder` if the worker has used `earlierFolder` but not `ownFolder`,
 * else `ownFolder`. A used folder contains the token from joining. With a token in the settings, an instance id also
 * shows that a folder is used.
 */
export function serviceFolder(ownFolder: string, earlierFolder: string, hasGivenToken: boolean): string {
  const files = hasGivenToken ? ['token', 'instance'] : ['token'];
  const isUsed = (folder: string): boolean => files.some(file => existsSync(join(folder, file)));
  return isUsed(ownFolder) || !isUsed(earlierFolder) ? ownFolder : earlierFolder;
}

export interface Start {
  readonly config: Pick<AgentConfig, 'name' | 'token' | 'trainers'>;
  /** The values of `--trainer`, as given. */
  readonly trainerTexts: readonly string[];
  readonly folder: string;
  readonly path: string | null;
  readonly env: Env;
}

/** Returns why a worker with these settings would exit immediately or run no job; null when no problem is known. */
export async function findStartTrouble(start: Start): Promise<string | null> {
  const { config, trainerTexts, folder, path, env } = start;
  const tokenTrouble = findTokenTrouble(config, folder);
  if (tokenTrouble !== null) return tokenTrouble;
  const relative = findRelativeTrainer(trainerTexts);
  if (relative !== null)
    return `Give --trainer ${relative} with an absolute path, because a service starts in another folder`;
  const probed = await probeTrainers(config.trainers, trainerProbe({ ...env, PATH: path ?? env['PATH'] }));
  const problems = probed.flatMap(({ problem }) => problem ?? []);
  return problems.length === 0 ? null : problems.join('. ');
}

function findTokenTrouble({ name, token }: Start['config'], folder: string): string | null {
  if (token !== null) {
    const read = readToken(token);
    return read.ok ? null : read.message;
  }
  const ownTokens = openOwnTokens(folder).read();
  if (!ownTokens.ok) return ownTokens.message;
  if (ownTokens.value.joined !== null || ownTokens.value.pending !== null) return null;
  return (
    `The worker ${name} has not joined yet: there is no token in ${folder}. Give a join token (SIMPLETUNER_WORKER_TOKEN, ` +
    'or --worker-token-file FILE). If it has joined as another user, install the service as that user with --user, or name its ' +
    'state folder with --state-dir'
  );
}

/** Returns the first `--trainer` value whose path depends on the caller's working directory; null when there is none. */
function findRelativeTrainer(texts: readonly string[]): string | null {
  const isRelative = (text: string): boolean => {
    const [, name = '', where = text] = /^([a-z-]+)=(.*)$/s.exec(text) ?? [];
    const [program = ''] = where.replace(/^['"]/, '').split(/[\s'"]/, 1);
    const isPath = /[/\\]/.test(program) || (name !== '' && name !== 'command' && program !== '');
    return isPath && !isAbsolute(program);
  };
  return texts.find(isRelative) ?? null;
}

/** Returns the pid of a running worker that has locked the folder; null when there is none. */
export async function findRunningWorker(folder: string, processes: Processes): Promise<number | null> {
  const holder = refOf(readFields(join(folder, 'lock')));
  return holder !== null && (await isRunning(processes, holder)) ? holder.pid : null;
}
