import { expect, test } from 'vitest';
import { skeletonOf } from '../../../../../main/orchestrator/commands/access/tokens.ts';

test.each([
  ['scope', '\u0455\u0441\u043e\u0440\u0435'],
  ['nova', 'n\u03bfv\u03b1'],
  ['wide 10', '\uff37ide  lO'],
  ['hidden', 'hid\u200bden\ufe0f'],
])('treats the names %j and %j as confusable', (one, other) => {
  expect(skeletonOf(one)).toBe(skeletonOf(other));
});

test.each([
  ['anna', '\u0410\u043d\u043d\u0430'],
  ['rig-2', 'rig-3'],
  ['jose', 'jos\u00e9'],
])('treats the names %j and %j as different', (one, other) => {
  expect(skeletonOf(one)).not.toBe(skeletonOf(other));
});
