/** Tests how much disk space the datasets of a rig may use. */
import { expect, test } from 'vitest';
import { cacheLimit } from '../../../../agent/datasets/rig-data.ts';

test.each([
  ['half of the disk when the owner sets no limit', null, 50],
  ['the limit that the owner sets', 80, 80],
  ['the size of the disk when the owner sets a larger limit', 200, 100],
])('limits the cache to %s', (_title, ownerLimit, limit) => {
  expect(cacheLimit(ownerLimit, 100)).toBe(limit);
});
