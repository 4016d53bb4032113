// `headerValues` returns all values, so that callers can reject a repeated header that must occur only once.
import { expect, test } from 'vitest';
import { maxHeaderCount, headerValues } from '../../../../../main/http/auth/sender.ts';

test('returns all values of a header in order, whatever the case of its name', () => {
  const rawHeaders = ['Host', 'a', 'X-Host', 'b', 'hOST', 'c', 'Accept', 'host'];
  expect(headerValues({ rawHeaders }, 'host')).toEqual(['a', 'c']);
  expect(headerValues({ rawHeaders }, 'authorization')).toEqual([]);
  expect(headerValues({ rawHeaders: [] }, 'host')).toEqual([]);
});

test('ignores headers beyond the maximum count', () => {
  const otherHeaders = Array.from({ length: maxHeaderCount - 1 }, (_, n) => [`X-${n}`, 'x']).flat();
  expect(headerValues({ rawHeaders: [...otherHeaders, 'Host', 'last', 'Host', 'behind'] }, 'host')).toEqual([
    'last',
  ]);
});
