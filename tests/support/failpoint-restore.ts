/**
 * Kills the process with SIGKILL during a restore: after the backup was copied beside the database (`copied`), after the
 * current database was saved as a backup (`saved`), before the rename (`signed`), or after the rename (`renamed`).
 */
import fs, { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { die, setting } from './failpoint.ts';

const { renameSync } = fs;
const { copyFile } = promises;
const at = setting();

promises.copyFile = async (source, target, mode) => {
  await copyFile(source, target, mode);
  if (at === 'copied' && String(target).endsWith('.restoring')) die('copied');
};

fs.renameSync = (source, target) => {
  const isSwap = String(source).endsWith('.restoring');
  if (at === 'signed' && isSwap) die('signed');
  renameSync(source, target);
  if (at === 'renamed' && isSwap) die('renamed');
  if (at === 'saved' && String(target).includes('before-restore-')) die('saved');
};

syncBuiltinESMExports();
