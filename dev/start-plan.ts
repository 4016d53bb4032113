import { targets } from './worker/pins.ts';

/** The facts from which `npm start` decides what to start. This module has no side effects. */
export interface StartContext {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  /** Path of the Electron program; null when it has not been downloaded. */
  readonly electron: string | null;
}

export type StartPlan =
  | { readonly kind: 'app'; readonly electron: string }
  /** The server, with the panel in a browser. If `fetches`, downloads Electron in the background for the next start. */
  | { readonly kind: 'headless'; readonly why: string; readonly fetches: boolean };

/** Decides what to start. `--headless` takes precedence over the detected environment. */
export function planStart({ platform, env, isRoot, electron }: StartContext, isHeadless: boolean): StartPlan {
  const headless = (why: string, fetches = false): StartPlan => ({ kind: 'headless', why, fetches });
  if (isHeadless) return headless('No window: --headless is set');
  if (platform === 'linux' && !env['DISPLAY'] && !env['WAYLAND_DISPLAY'])
    return headless('No window: this session has no display (neither DISPLAY nor WAYLAND_DISPLAY is set)');
  if (platform !== 'linux' && env['SSH_CONNECTION'] !== undefined)
    return headless('No window: this is a session over SSH');
  if (platform === 'linux' && isRoot) return headless('No window: Electron does not run as root');
  if (electron === null)
    return headless(
      'No window yet: Electron is being downloaded. Start again when the download is complete',
      true,
    );
  return { kind: 'app', electron };
}

type Sources = Readonly<Record<string, readonly string[]>>;

const panel: Sources = { 'dist/renderer/index.html': ['renderer', 'protocol'] };

/** Files that must be built before the start, with their sources. The server needs no build. */
export const requiredFiles: Readonly<Record<StartPlan['kind'], Sources>> = {
  headless: panel,
  app: {
    ...panel,
    'dist/main/cli.js': ['main', 'agent', 'protocol'],
    'dist/main/desktop.js': ['main', 'agent', 'protocol'],
    'dist/preload/preload.cjs': ['preload', 'protocol'],
  },
};

/** Files that can be built in the background: the worker's executable for this platform, otherwise its script. */
export function backgroundBuilds(platform: NodeJS.Platform, arch: string): Sources {
  const target = targets.find(candidate => candidate.platform === `${platform}-${arch}`);
  const name = target?.file ?? 'trainyard-worker.mjs';
  return { [`dist/agent/${name}`]: ['agent', 'protocol'] };
}
