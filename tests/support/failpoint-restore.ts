/**
 * Kills the process with SIGKILL in the middle of a restore: `copied` (the backup lies beside the database), `saved`
 * (the current database has become a backup), `signed` (all is ready for the rename), `renamed` (the backup is the
 * database).
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
