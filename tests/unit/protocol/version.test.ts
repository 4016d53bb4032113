import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { oldNodeMessage } from '../../../protocol/node-version.ts';
import { compareVersions } from '../../../protocol/version.ts';

// Versions in ascending order, among them the examples from section 11 of semver.org.
const rising = [
  '0.0.1',
  '0.1.0',
  '0.2.0',
  '0.10.0',
  '1.0.0-0',
  '1.0.0-2',
  '1.0.0-10',
  '1.0.0--',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc.1',
  '1.0.0',
  '1.0.1',
  '99999999999999999999.0.0',
  '100000000000000000000.0.0',
];

test('compares every pair of versions as older, same or newer', () => {
  for (const [firstIndex, first] of rising.entries())
    for (const [secondIndex, second] of rising.entries()) {
      let expected = 'same';
      if (firstIndex < secondIndex) expected = 'older';
      if (firstIndex > secondIndex) expected = 'newer';
      // Compares the versions, too, so that a failure shows them.
      expect([first, second, compareVersions(first, second)]).toEqual([first, second, expected]);
    }
});

test('ignores build metadata when it compares versions', () => {
  expect(compareVersions('1.0.0+linux', '1.0.0+mac.2')).toBe('same');
  expect(compareVersions('1.0.0-rc.1+linux', '1.0.0')).toBe('older');
});

test.each([
  '',
  '1',
  '1.0',
  'v1.0.0',
  '01.0.0',
  '1.0.0-',
  '1.0.0-a..b',
  ' 1.0.0',
  '1.0.0\n',
  '1.0.x',
  '-1.0.0',
  'unknown',
  `1.0.0-${'a'.repeat(300)}`,
  `${'9'.repeat(300)}.0.0`,
  '__proto__',
])('returns null for the invalid version %j', text => {
  expect(compareVersions(text, '1.0.0')).toBeNull();
  expect(compareVersions('1.0.0', text)).toBeNull();
});

test.each(['22.19.0', '22.20.1', '23.0.0', '24.21.0', '100.0.0'])('accepts Node %s', version => {
  expect(oldNodeMessage(version, '/usr/bin/node')).toBeNull();
});

test.each(['22.18.9', '20.20.2', '18.20.8', '0.10.48', ''])('refuses Node %s', version => {
  expect(oldNodeMessage(version, '/usr/bin/node')).toBe(
    `Trainyard needs Node 22.19 or newer, but this is Node ${version} (/usr/bin/node): install a newer one (https://nodejs.org) and start Trainyard with it\n`,
  );
});

test('names the minimum Node version from package.json', () => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { engines } = JSON.parse(text) as { readonly engines: { readonly node: string } };
  const [, minimum = ''] = /^>=(\d+\.\d+)$/.exec(engines.node) ?? [];
  expect(oldNodeMessage('1.0.0', 'node')).toContain(`Node ${minimum} or newer`);
  expect(oldNodeMessage(`${minimum}.0`, 'node')).toBeNull();
});
