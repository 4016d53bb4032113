// Stores a worker in the given file, prints a line after the commit, and runs until it is killed.
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { makeWorker, quietDeps } from './builders.ts';

const store = openSqliteStore(process.argv[2] ?? '', quietDeps());
await store.write(tx => tx.insertWorker(makeWorker({ name: 'survivor' }), 'hash'));
process.stdout.write('stored\n');
setInterval(() => {}, 60_000);
