/** How much disk space the datasets of a rig may use. */
import { expect, test } from 'vitest';
import { cacheLimit } from '../../../../agent/datasets/rig-data.ts';

test.each([
  ['half of what the disk could hold when the owner has set no limit', null, 50],
  ['what the owner allows', 80, 80],
  ['no more than the disk could hold, whatever the owner allows', 200, 100],
])('the datasets may take %s', (_what, dataCache, limit) => {
  expect(cacheLimit(dataCache, 100)).toBe(limit);
});
