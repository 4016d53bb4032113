import { basename } from 'node:path';

/** The program file of this worker, if an orchestrator distributes it (docs/workers.md). */
export interface OwnProgram {
  /** File name in the orchestrator's downloads. */
  readonly name: 'trainyard-worker-linux-x64' | 'trainyard-worker.mjs';
  readonly path: string;
  /** Command that runs such a file: Node for the script, nothing for the executable. */
  readonly runner: readonly string[];
}

/** Returns null in a source checkout, whose program is more than one file. `realpath` resolves links, and throws for a missing file. */
export function ownProgram(
  ownCommand: readonly string[],
  realpath: (path: string) => string,
): OwnProgram | null {
  const [file = '', ...rest] = ownCommand;
  const script = rest.at(-1);
  if (script === undefined) return { name: 'trainyard-worker-linux-x64', path: realpath(file), runner: [] };
  const path = realpath(script);
  return basename(path) === 'trainyard-worker.mjs'
    ? { name: 'trainyard-worker.mjs', path, runner: [file] }
    : null;
}
