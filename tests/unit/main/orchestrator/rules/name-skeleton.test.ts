import { expect, test } from 'vitest';
import { skeletonOf } from '../../../../../main/orchestrator/commands/access/tokens.ts';

// The second names contain Cyrillic, Greek and full-width letters, and invisible characters.
test.each([
  ['scope', '\u0455\u0441\u043e\u0440\u0435'],
  ['nova', 'n\u03bfv\u03b1'],
  ['wide 10', '\uff37ide  lO'],
  ['hidden', 'hid\u200bden\ufe0f'],
])('treats the names %j and %j as confusable', (first, second) => {
  expect(skeletonOf(first)).toBe(skeletonOf(second));
});

test.each([
  ['anna', '\u0410\u043d\u043d\u0430'],
  ['rig-2', 'rig-3'],
  ['jose', 'jos\u00e9'],
])('treats the names %j and %j as different', (first, second) => {
  expect(skeletonOf(first)).not.toBe(skeletonOf(second));
});
