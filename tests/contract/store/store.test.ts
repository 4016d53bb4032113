import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { newDatabaseFile } from '../../support/new-database.ts';
import { quietDeps } from './builders.ts';
import { describeStore } from './store.suite.ts';

describeStore('a store in a file', () => {
  const deps = { ...quietDeps(), emptyDatabase: newDatabaseFile() };
  const store = openSqliteStore(join(openFolder(), 'trainyard.db'), deps);
  onTestFinished(() => store.close());
  return store;
});
