import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { chromium, type Page } from '@playwright/test';

export interface PackagedApp {
  readonly page: Page;
  /** Sends SIGTERM to the app. Resolves with its exit code. */
  readonly stop: () => Promise<number | null>;
  /** Resolves with the exit code when the app has ended. */
  readonly exited: Promise<number | null>;
}

/**
 * Starts a packaged app and attaches to its window through the remote debugging port. The fuses of the package forbid
 * Playwright's usual start of Electron. `prefix`: command line of a program that starts the app, such as `env`.
 */
export async function startPackaged(
  program: string,
  dataDir: string,
  prefix: readonly string[] = [],
): Promise<PackagedApp> {
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const [command = program, ...args] = [
    ...prefix,
    program,
    '--data-dir',
    dataDir,
    '--remote-debugging-port=0',
    ...asRoot,
  ];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = new Promise<number | null>(resolve => child.once('exit', resolve));
  const browser = await chromium.connectOverCDP(await waitForDebugger(child));
  const context = browser.contexts()[0]!;
  const page = context.pages()[0] ?? (await context.waitForEvent('page'));
  return {
    page,
    exited,
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

/** Resolves with the DevTools address, which the app prints on stderr. Rejects when the app exits without printing it. */
function waitForDebugger(child: ChildProcess): Promise<string> {
  const { stderr } = child;
  if (stderr === null) throw new Error('the process has no pipe for stderr');
  return new Promise((resolve, reject) => {
    createInterface({ input: stderr }).on('line', line => {
      const [, address] = /DevTools listening on (\S+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
    child.once('exit', code => reject(new Error(`the app has ended with ${code}`)));
  });
}
