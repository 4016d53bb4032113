/**
 * Shared code of the failpoint preloads. A test starts the program as `node --import FAILPOINT main/cli.ts ...`. The
 * preload changes a library underneath it, so no code of the product knows about failpoints. A test sees from outside
 * whether one fired: by its line on stderr, and by the signal.
 */
import { readFileSync, writeSync } from 'node:fs';

const stderr = 2;
/** No program of ours handles this signal, and its default action is to ignore it, so an early signal is harmless. */
export const orderSignal = 'SIGWINCH';
/** The setting of a preload. For a preload that takes orders at run time, the path of the file with the order. */
const settingVariable = 'TRAINYARD_TEST_FAILPOINT';

export const failpointLine = (what: string): string => `failpoint: ${what}`;

/** What a test needs to start its program with a failpoint. */
export interface Failpoint {
  readonly preload: string;
  readonly env: Readonly<Record<string, string>>;
}

export const failpoint = (preload: URL, setting: string): Failpoint => ({
  preload: preload.href,
  env: { [settingVariable]: setting },
});

/** In a preload: the setting that the test has chosen. */
export const setting = (): string => process.env[settingVariable] ?? '';

/** In a preload: writes synchronously, so that the line is complete whatever happens next. */
const say = (what: string): void => void writeSync(stderr, `${failpointLine(what)}\n`);

/** In a preload: kills the process. No handler runs and no buffer is flushed. */
export function die(what: string): void {
  say(what);
  process.kill(process.pid, 'SIGKILL');
}

/** In a preload: on each SIGWINCH, obeys the order in the file and logs it. */
export function onOrder(obey: (order: string) => void): void {
  process.on(orderSignal, () => {
    const order = readFileSync(setting(), 'utf8').trim();
    obey(order);
    say(order);
  });
}
