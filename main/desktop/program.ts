import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Surroundings } from '../compose.ts';
import type { Env } from '../config.ts';

export interface Places {
  readonly isPackaged: boolean;
  /** Where a package keeps what lies beside the app. */
  readonly resources: string;
  /** Where this program was built to. */
  readonly dist: string;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly env: Env;
}

/** Named by `npm start`: what has started it. */
const nodeVariable = 'TRAINYARD_NODE';

/**
 * What the worker of this computer is started with. A package has its own program for that, which needs nothing else: with its
 * fuses the app can not play Node. From a checkout it is the command line, under the Node that has started the app.
 */
export function localAgent({
  isPackaged,
  resources,
  dist,
  platform,
  arch,
  env,
}: Places): Surroundings['agent'] {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => name !== nodeVariable));
  if (isPackaged) {
    const unpacked = join(resources, 'app.asar.unpacked/dist');
    const name = `trainyard-worker-${platform}-${arch}${platform === 'win32' ? '.exe' : ''}`;
    const hasSample = existsSync(join(unpacked, 'examples/digits/train.mjs'));
    return { command: [join(unpacked, 'agent', name)], env: kept, hasSample };
  }
  const hasSample = existsSync(join(dist, '../../examples/digits/train.ts'));
  return { command: [env[nodeVariable] ?? 'node', join(dist, 'cli.js'), 'worker'], env: kept, hasSample };
}
