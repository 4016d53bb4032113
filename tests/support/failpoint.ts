/**
 * Shared code of the failpoint preloads. A failpoint injects a fault at one point of a program. A test starts the program as
 * `node --import FAILPOINT main/cli.ts ...`. The preload patches a library, so the product needs no code for failpoints. A line
 * on stderr shows the test that the program reached the failpoint.
 */
import { readFileSync, writeSync } from 'node:fs';

const stderr = 2;
/**
 * The signal for orders, which are texts that a test writes into a file while the program runs. The product does not use
 * SIGWINCH, and a process without a handler ignores it. A signal that arrives before the preload is ready therefore does no
 * harm.
 */
export const orderSignal = 'SIGWINCH';
/**
 * Variable with the setting of a preload. For a preload that executes orders at run time, the setting is the path of the order
 * file.
 */
const settingVariable = 'TRAINYARD_TEST_FAILPOINT';

export const failpointLine = (what: string): string => `failpoint: ${what}`;

/** The arguments and the environment with which a test starts a program with a failpoint. */
export interface Failpoint {
  readonly preload: string;
  readonly env: Readonly<Record<string, string>>;
}

export const failpoint = (preload: URL, setting: string): Failpoint => ({
  preload: preload.href,
  env: { [settingVariable]: setting },
});

/** In a preload: returns the setting from the test. */
export const setting = (): string => process.env[settingVariable] ?? '';

/**
 * In a preload: writes a line synchronously, so that the line is complete even if the process is killed immediately afterwards.
 */
const logFailpoint = (what: string): void => void writeSync(stderr, `${failpointLine(what)}\n`);

/** In a preload: kills the process. No handler runs and no buffer is flushed. */
export function die(what: string): void {
  logFailpoint(what);
  process.kill(process.pid, 'SIGKILL');
}

/** In a preload: on each SIGWINCH, executes the order in the file and logs it. */
export function onOrder(execute: (order: string) => void): void {
  process.on(orderSignal, () => {
    const order = readFileSync(setting(), 'utf8').trim();
    execute(order);
    logFailpoint(order);
  });
}
