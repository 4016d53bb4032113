import { rmSync } from 'node:fs';
import { findDumps } from '../../cli/doctor/report.ts';

const maxDumps = 5;

/** Removes all crash dumps below a folder except the newest five. Crashpad ignores a missing dump. */
export function removeOldDumps(folder: string): void {
  for (const { path } of findDumps(folder).slice(maxDumps)) rmSync(path, { force: true });
}
