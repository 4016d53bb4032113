/**
 * What the failpoint preloads share. A program under test is started as `node --import FAILPOINT main/cli.ts ...`: the
 * preload changes a library underneath it, so that nothing in the product knows of failpoints. Whether one fired is
 * seen from outside: by its line on stderr, and by the signal.
 */
import { readFileSync, writeSync } from 'node:fs';

const stderr = 2;
/** No program of ours listens to it, and nothing happens when it comes too early. */
export const orderSignal = 'SIGWINCH';
/** Settings of a preload; where it takes orders while the program runs, the path of the file that holds the order. */
const settingVariable = 'TRAINYARD_TEST_FAILPOINT';

export const failpointLine = (what: string): string => `failpoint: ${what}`;

/** What a test starts its program with. */
export interface Failpoint {
  readonly preload: string;
  readonly env: Readonly<Record<string, string>>;
}

export const failpoint = (preload: URL, setting: string): Failpoint => ({
  preload: preload.href,
  env: { [settingVariable]: setting },
});

/** In a preload: what the test has asked for. */
export const setting = (): string => process.env[settingVariable] ?? '';

/** In a preload: written at once, whatever happens next. */
const say = (what: string): void => void writeSync(stderr, `${failpointLine(what)}\n`);

/** In a preload: no handler runs, nothing is flushed. */
export function die(what: string): void {
  say(what);
  process.kill(process.pid, 'SIGKILL');
}

/** In a preload: obeys what stands in the file, once for each SIGWINCH, and says so. */
export function onOrder(obey: (order: string) => void): void {
  process.on(orderSignal, () => {
    const order = readFileSync(setting(), 'utf8').trim();
    obey(order);
    say(order);
  });
}
