import { spawn, spawnSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import type { MeasuredApp } from './app.ts';
import type { BusyFleet } from './fleet.ts';

/** Something that a user does while the fleet works. */
export interface Scene {
  readonly what: string;
  /** Returns the reason why this machine cannot show the scene; null when it can. */
  readonly missing: () => string | null;
  /** Prepares the scene before the measurement. Resolves with a function that performs the scene until the signal aborts. */
  readonly prepare: (app: MeasuredApp, fleet: BusyFleet) => Promise<(signal: AbortSignal) => Promise<void>>;
}

const million = 1_000_000;
const needsNothing = (): null => null;
const pause = (ms: number, signal: AbortSignal): Promise<void> => setTimeout(ms, undefined, { signal });
const frameMs = 16;

/** Repeats a step every `ms` until the signal aborts. */
async function repeat(signal: AbortSignal, ms: number, step: (count: number) => unknown): Promise<void> {
  for (let count = 0; !signal.aborted; count += 1) {
    await step(count);
    await pause(ms, signal).catch(() => {});
  }
}

const untilEnd = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));

const missingXdotool = (): string | null =>
  spawnSync('xdotool', ['version']).status === 0 ? null : 'xdotool is missing (apt-get install xdotool)';

async function windowIdOf({ electron }: MeasuredApp): Promise<number> {
  const id = await electron.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0]?.getNativeWindowHandle().readUInt32LE(0),
  );
  if (id === undefined) throw new Error('The app has no window.');
  return id;
}

/** Creates a scene in which xdotool changes the window. `commandOf` returns the command for a frame. */
const windowScene = (what: string, commandOf: (id: number, count: number) => string): Scene => ({
  what,
  missing: missingXdotool,
  async prepare(app) {
    const id = await windowIdOf(app);
    return async signal => {
      const tool = spawn('xdotool', ['-'], { stdio: ['pipe', 'ignore', 'inherit'] });
      await repeat(signal, frameMs, count => tool.stdin.write(`${commandOf(id, count)}\n`));
      tool.stdin.end();
    };
  },
});

export const scenes: readonly Scene[] = [
  { what: 'no user', missing: needsNothing, prepare: async () => untilEnd },
  windowScene(
    'window moved 60 times a second',
    (id, count) => `windowmove ${id} ${count % 300} ${count % 200}`,
  ),
  windowScene(
    'window resized 60 times a second',
    (id, count) => `windowsize ${id} ${1_000 + (count % 200)} ${700 + (count % 100)}`,
  ),
  {
    what: 'log of a million lines opened and followed',
    missing: needsNothing,
    async prepare({ page, url }, { log, loggedJob }) {
      await log.print(Array.from({ length: million }, (_, index) => `step ${index} loss 0.123\n`).join(''));
      return async signal => {
        await page.goto(`${url}/jobs/${loggedJob}?tab=logs`);
        await page.getByRole('log').waitFor();
        await repeat(signal, 50, count => log.print(`followed ${count} loss 0.123\n`.repeat(20)));
      };
    },
  },
  {
    what: 'native dialog of the app open (quit with running jobs)',
    missing: missingXdotool,
    async prepare({ electron }) {
      return async signal => {
        await electron.evaluate(({ app }) => app.quit());
        await untilEnd(signal);
        // Escape closes the dialog and cancels the quit.
        spawnSync('xdotool', ['key', 'Escape']);
      };
    },
  },
];
