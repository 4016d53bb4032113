/**
 * Collects all values of a repeated header. When a header that may occur only once is repeated, neither value is
 * trusted.
 */
import { expect, test } from 'vitest';
import { maxHeaderCount, sentAs } from '../../../../../main/http/auth/heads.ts';

test('every value is told, in its order, however its name was written', () => {
  const rawHeaders = ['Host', 'a', 'X-Host', 'b', 'hOST', 'c', 'Accept', 'host'];
  expect(sentAs({ rawHeaders }, 'host')).toEqual(['a', 'c']);
  expect(sentAs({ rawHeaders }, 'authorization')).toEqual([]);
  expect(sentAs({ rawHeaders: [] }, 'host')).toEqual([]);
});

test('what is behind the most that are looked at counts for nobody', () => {
  const others = Array.from({ length: maxHeaderCount - 1 }, (_, n) => [`X-${n}`, 'x']).flat();
  expect(sentAs({ rawHeaders: [...others, 'Host', 'last', 'Host', 'behind'] }, 'host')).toEqual(['last']);
});
