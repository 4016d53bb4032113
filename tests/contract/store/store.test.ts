import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { type OpenStore, quietDeps } from './builders.ts';
import { describeStore } from './store.suite.ts';

const opened =
  (place: () => string): OpenStore =>
  () => {
    const store = openSqliteStore(place(), quietDeps());
    onTestFinished(() => store.close());
    return store;
  };

describeStore(
  'a store in memory',
  opened(() => ':memory:'),
);
describeStore(
  'a store in a file',
  opened(() => join(openFolder(), 'trainyard.db')),
);
