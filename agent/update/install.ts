import { copyFileSync, linkSync, renameSync, rmSync } from 'node:fs';
import type { OwnProgram } from './program.ts';
import type { StagedProgram } from './updater.ts';

/** Returns the path at which the program from before the last update is kept, so that people can restore it. */
const previousOf = (path: string): string => `${path}.previous`;

/** Replaces the program by one rename, and keeps the old file beside it. Throws when that is impossible. */
export function installProgram(program: OwnProgram, { path, isInstalled }: StagedProgram): void {
  if (isInstalled) return;
  // Windows does not replace the file of a running program, but renames it.
  if (process.platform === 'win32') renameSync(program.path, previousOf(program.path));
  else keepPrevious(program.path);
  renameSync(path, program.path);
}

function keepPrevious(path: string): void {
  const previous = previousOf(path);
  rmSync(previous, { force: true });
  try {
    linkSync(path, previous);
  } catch {
    // Some file systems have no hard links.
    copyFileSync(path, previous);
  }
}
