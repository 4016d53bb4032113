/**
 * Stands by while a program tests with real processes, and cleans up when that program is gone, however it ended: by
 * itself, by Ctrl-C, or killed. It hears of that by the end of its stdin.
 *
 *   node reaper.ts PREFIX    ends all processes whose owner begins with this path, and removes the folders of that name
 */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { killProcessesOf } from './own-processes.ts';

const prefix = process.argv[2] ?? '';
if (!basename(prefix).startsWith('trainyard-')) throw new Error(`${prefix} is not ours`);

process.stdin.resume();
process.stdin.on('close', () => {
  killProcessesOf(prefix);
  for (const name of namesIn(dirname(prefix))) {
    if (name.startsWith(basename(prefix)))
      rmSync(join(dirname(prefix), name), { recursive: true, force: true, maxRetries: 3 });
  }
});
// The signals of a terminal are for the program: this one ends after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
