import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import type { ComposeDeps } from '../compose/deps.ts';
import type { Env } from '../config.ts';
import { linkAmong } from './links/links.ts';

interface Installation {
  readonly isPackaged: boolean;
  /** Folder with the files that a package contains besides the app itself. */
  readonly resources: string;
  /** Folder of the built program. */
  readonly dist: string;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly env: Env;
}

/** `npm start` sets this variable to the path of the Node that runs it. */
const nodeVariable = 'TRAINYARD_NODE';

/**
 * Returns the command for the worker of this computer. A package contains the worker as an executable, because Electron's fuses
 * prevent the app from running as Node. In a checkout, the worker runs under the Node that started the app.
 */
export function localAgent({
  isPackaged,
  resources,
  dist,
  platform,
  arch,
  env,
}: Installation): ComposeDeps['agent'] {
  // Remove TRAINYARD_NODE, because the worker passes its environment to trainers.
  const envOfWorker = Object.fromEntries(Object.entries(env).filter(([name]) => name !== nodeVariable));
  if (isPackaged) {
    const unpacked = join(resources, 'app.asar.unpacked/dist');
    const name = `trainyard-worker-${platform}-${arch}${platform === 'win32' ? '.exe' : ''}`;
    const hasSample = existsSync(join(unpacked, 'examples/digits/train.mjs'));
    return { command: [join(unpacked, 'agent', name)], env: envOfWorker, hasSample };
  }
  const hasSample = existsSync(join(dist, '../../examples/digits/train.ts'));
  return {
    command: [env[nodeVariable] ?? 'node', join(dist, 'cli.js'), 'worker'],
    env: envOfWorker,
    hasSample,
  };
}

/** Path of the file that starts the app at login on Linux. Electron implements autostart on the other platforms. */
export const autostartFile = (configHome: string): string =>
  join(configHome, 'autostart', 'trainyard.desktop');

/** Returns the text of the autostart file. */
export function autostartEntry(program: string): string {
  const exec = execLine(program, '--hidden');
  return `[Desktop Entry]\nType=Application\nName=Trainyard\nExec=${exec}\nTerminal=false\n`;
}

/**
 * Returns the value of `Exec` in a desktop entry. The Desktop Entry Specification requires two levels of escapes: first for
 * `Exec`, then for any string.
 */
export function execLine(program: string, rest: string): string {
  const inQuotes = program.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll('%', '%%');
  return `"${inQuotes}" ${rest}`.replaceAll('\\', '\\\\');
}

/** Command-line arguments of the app, without the arguments of Electron and the operating system. */
export interface Arguments {
  /** Flags by name, as for `trainyard server`. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** True for a start at login: the app then starts without a window. */
  readonly isHidden: boolean;
  /** The `trainyard://` link that the user clicked. */
  readonly link: string | null;
}

const flagNames = ['data-dir', 'configs-dir', 'port', 'host', 'config'] as const;

/** Parses the command-line arguments of the app. Ignores unknown ones. */
export function readArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(flagNames.map(name => [name, { type: 'string' } as const])),
      hidden: { type: 'boolean' },
    },
    strict: false,
  });
  const flags = flagNames.flatMap(name => {
    const value = values[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { flags: Object.fromEntries(flags), isHidden: values['hidden'] === true, link: linkAmong(args) };
}
