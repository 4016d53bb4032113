import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { oldNodeMessage } from '../../../protocol/node-version.ts';

it.each(['22.19.0', '22.20.1', '23.0.0', '24.21.0', '100.0.0'])('accepts Node %s', version => {
  expect(oldNodeMessage(version, '/usr/bin/node')).toBeNull();
});

it.each(['22.18.9', '20.20.2', '18.20.8', '0.10.48', ''])('refuses Node %s', version => {
  expect(oldNodeMessage(version, '/usr/bin/node')).toBe(
    `Trainyard needs Node 22.19 or newer, but this is Node ${version} (/usr/bin/node): install a newer one (https://nodejs.org) and start Trainyard with it\n`,
  );
});

it('names the version of package.json', () => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { engines } = JSON.parse(text) as { readonly engines: { readonly node: string } };
  const [, minimum = ''] = /^>=(\d+\.\d+)$/.exec(engines.node) ?? [];
  expect(oldNodeMessage('1.0.0', 'node')).toContain(`Node ${minimum} or newer`);
  expect(oldNodeMessage(`${minimum}.0`, 'node')).toBeNull();
});
