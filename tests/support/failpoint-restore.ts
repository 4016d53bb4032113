/**
 * Kills the process with SIGKILL during a restore: after the backup was copied beside the database (`copied`), after the
 * current database was saved as a backup (`saved`), before the rename (`signed`), or after the rename (`renamed`).
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
