/** The disk space that the datasets of a rig may use. */
import { expect, test } from 'vitest';
import { cacheLimit } from '../../../../agent/datasets/rig-data.ts';

test.each([
  ['half of the space on the disk without a limit of the owner', null, 50],
  ['what the owner allows', 80, 80],
  ['no more than the space on the disk, whatever the owner allows', 200, 100],
])('limits the cache to %s', (_what, dataCache, limit) => {
  expect(cacheLimit(dataCache, 100)).toBe(limit);
});
