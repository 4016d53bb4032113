/** The store of simulated fleets. `npm test` runs the same tests on a store in a file. */
import { onTestFinished } from 'vitest';
import { openSqliteStore } from '../../main/store/sqlite-store.ts';
import { quietDeps } from '../contract/store/builders.ts';
import { describeStore } from '../contract/store/store.suite.ts';

describeStore('a store in memory', () => {
  const store = openSqliteStore(':memory:', quietDeps());
  onTestFinished(() => store.close());
  return store;
});
