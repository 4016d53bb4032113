import { basename } from 'node:path';

/** The file that this worker was started from, when it is one that an orchestrator gives away (docs/workers.md). */
export interface OwnProgram {
  /** As it is called there. */
  readonly name: 'trainyard-worker-linux-x64' | 'trainyard-worker.mjs';
  readonly path: string;
  /** What starts another file of that kind. */
  readonly runner: readonly string[];
}

/** Null in a checkout, whose program is more than a file. `realpath` says where links lead, and throws where nothing is. */
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
