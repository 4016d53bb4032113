import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { newDatabaseFile } from '../../support/new-database.ts';
import { quietDeps } from './builders.ts';
import { describeStore } from './store.suite.ts';

const opener =
  (path: () => string): OpenStore =>
  () => {
    const store = openSqliteStore(path(), quietDeps());
    onTestFinished(() => store.close());
    return store;
  };

describeStore(
  'a store in memory',
  opener(() => ':memory:'),
);
describeStore(
  'a store in a file',
  opener(() => join(openFolder(), 'trainyard.db')),
);
