import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { JobId, WorkerId } from '../../protocol/ids.ts';
import type { ComposeDeps } from '../compose/deps.ts';
import type { Env } from '../config.ts';

interface Installation {
  readonly isPackaged: boolean;
  /** Folder where a package contains the files beside the app. */
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
 * prevent that the app runs as Node. In a checkout, the worker runs under the Node that started the app.
 */
export function localAgent({
  isPackaged,
  resources,
  dist,
  platform,
  arch,
  env,
}: Installation): ComposeDeps['agent'] {
  // The worker passes its environment to trainers, and TRAINYARD_NODE concerns only the start of the app.
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

/** On Linux, this file starts the app at login. Electron implements autostart on the other platforms. */
export const autostartFile = (configHome: string): string =>
  join(configHome, 'autostart', 'trainyard.desktop');

/**
 * Returns the text of the autostart file. The Desktop Entry Specification requires two levels of escapes: first for `Exec`, then
 * for any string.
 */
export function autostartEntry(program: string): string {
  const inQuotes = program.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll('%', '%%');
  const exec = `"${inQuotes}" --hidden`.replaceAll('\\', '\\\\');
  return `[Desktop Entry]\nType=Application\nName=Trainyard\nExec=${exec}\nTerminal=false\n`;
}

export const scheme = 'trainyard';

const things = { job: { id: JobId, page: '/jobs' }, worker: { id: WorkerId, page: '/workers' } } as const;

/**
 * Returns the panel page for a link such as `trainyard://job/j_abc`; null for anything else. Any web page can open such a link,
 * so it only shows an object and never changes one.
 */
export function pageOfLink(link: string): string | null {
  const [, thing, id] = /^trainyard:\/\/(job|worker)\/([^/?#]+)\/?$/i.exec(link) ?? [];
  const kind = thing?.toLowerCase();
  if (id === undefined || (kind !== 'job' && kind !== 'worker')) return null;
  const { id: schema, page } = things[kind];
  const parsed = schema.safeParse(id);
  return parsed.success ? `${page}/${parsed.data}` : null;
}

/**
 * Finds a link among the arguments of a start. The system puts it after `--`. A registration by an earlier version may put it
 * anywhere. Without `--`, this searches all arguments, because `indexOf` then returns -1.
 */
export const linkAmong = (args: readonly string[]): string | null =>
  args.slice(args.indexOf('--') + 1).find(arg => arg.toLowerCase().startsWith(`${scheme}://`)) ?? null;

/** Command-line arguments of the app, without those of Electron and the operating system. */
export interface Arguments {
  /** Flags by name, as for `trainyard server`. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** True for a start at login: the window appears when the user opens it. */
  readonly isHidden: boolean;
  /** The `trainyard://` link that the user clicked. */
  readonly link: string | null;
}

const flagNames = ['data-dir', 'configs-dir', 'port', 'host', 'config'] as const;

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
