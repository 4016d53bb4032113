/** Stores one worker in the file it is given, says so once that was answered, and stays until it is killed. */
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { makeWorker, silentLog } from './builders.ts';
import { testSeal } from '../../support/seal.ts';

const store = openSqliteStore(process.argv[2] ?? '', silentLog, { seal: testSeal });
await store.write(tx => tx.insertWorker(makeWorker({ name: 'survivor' }), 'hash'));
process.stdout.write('stored\n');
setInterval(() => {}, 60_000);
