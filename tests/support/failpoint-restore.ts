/**
 * A failpoint preload (failpoint.ts) that kills the process with SIGKILL during a restore. The setting names the moment:
 *
 * - `copied`: after the backup was copied beside the database;
 * - `saved`: after the current database was saved as a backup;
 * - `signed`: before the copy is renamed to the database;
 * - `renamed`: after that rename.
 */
import fs, { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { die, setting } from './failpoint.ts';

const { renameSync } = fs;
const { copyFile } = promises;
const crashPoint = setting();

promises.copyFile = async (source, target, mode) => {
  await copyFile(source, target, mode);
  if (crashPoint === 'copied' && String(target).endsWith('.restoring')) die('copied');
};

fs.renameSync = (source, target) => {
  const isSwap = String(source).endsWith('.restoring');
  if (crashPoint === 'signed' && isSwap) die('signed');
  renameSync(source, target);
  if (crashPoint === 'renamed' && isSwap) die('renamed');
  if (crashPoint === 'saved' && String(target).includes('before-restore-')) die('saved');
};

syncBuiltinESMExports();
