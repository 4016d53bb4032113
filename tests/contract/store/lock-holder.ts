// Waits for a line on stdin, tries to lock the given folder, prints the result, and runs until it is killed.
import { once } from 'node:events';
import { FolderInUse, lockFolder } from '../../../main/store/db/folder-lock.ts';

const [, , folder = '', since = ''] = process.argv;
process.stdout.write('ready\n');
await once(process.stdin, 'data');
try {
  lockFolder(folder, since);
  process.stdout.write('won\n');
} catch (cause) {
  if (!(cause instanceof FolderInUse)) throw cause;
  process.stdout.write(`lost: ${cause.message}\n`);
}
setInterval(() => {}, 60_000);
