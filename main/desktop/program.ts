import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ComposeDeps } from '../compose/deps.ts';
import type { Env } from '../config.ts';

export interface Places {
  readonly isPackaged: boolean;
  /** Folder in which a package stores the files beside the app. */
  readonly resources: string;
  /** Build folder of this program. */
  readonly dist: string;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly env: Env;
}

/** Set by `npm start` to the Node that started it. */
const nodeVariable = 'TRAINYARD_NODE';

/**
 * Returns the command for the worker of this computer. A package contains a standalone worker executable, because the app's
 * Electron fuses prevent running it as Node. In a checkout, the command line runs under the Node that started the app.
 */
export function localAgent({
  isPackaged,
  resources,
  dist,
  platform,
  arch,
  env,
}: Places): ComposeDeps['agent'] {
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
