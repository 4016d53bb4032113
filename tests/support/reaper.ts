/**
 * Cleans up after a program that tests with real processes, when that program has exited, was interrupted by Ctrl-C, or
 * was killed. The reaper notices this by the end of its stdin.
 *
 *   node reaper.ts PREFIX    ends all processes whose owner starts with this path, and removes the folders of that name
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
// Terminal signals are for the program. The reaper ignores them and ends after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
