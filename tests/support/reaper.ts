/**
 * Cleans up after a test program with real processes, even if the program was interrupted by Ctrl-C or killed. The stdin of the
 * reaper closes when the program ends. The owner of a process is its `ownerVariable` (own-processes.ts).
 *
 *   node reaper.ts PREFIX    kills all processes whose owner starts with PREFIX, and removes all folders whose path starts
 *                            with PREFIX
 */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { killProcessesOf } from './own-processes.ts';

const prefix = process.argv[2] ?? '';
if (!basename(prefix).startsWith('trainyard-')) throw new Error(`${prefix} is not a folder of a test run`);

process.stdin.resume();
process.stdin.on('close', () => {
  killProcessesOf(prefix);
  for (const name of namesIn(dirname(prefix))) {
    if (name.startsWith(basename(prefix)))
      rmSync(join(dirname(prefix), name), { recursive: true, force: true, maxRetries: 3 });
  }
});
// Ignore signals of the terminal, which are meant for the program. The reaper must outlive the program.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
