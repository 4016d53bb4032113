import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LaunchId } from '../../../protocol/ids.ts';
import { joinToken, orderOf, testEngineContract } from '../../support/engine-contract.ts';
import { engineOn, installExample } from '../../support/example-engine.ts';

const folder = installExample('skypilot');
const home = mkdtempSync(join(tmpdir(), 'sky-'));
const clusters = join(home, 'clusters');
mkdirSync(clusters);
mkdirSync(join(home, 'bin'));
symlinkSync(join(import.meta.dirname, '../../support/fake-sky'), join(home, 'bin/sky'));
const envOf = (server: string) => ({
  PATH: `${join(home, 'bin')}:/usr/bin:${process.env['PATH']}`,
  FAKE_SKY_FOLDER: server,
});
const engineOf = (fleet: string) => engineOn(folder, fleet, envOf(clusters));

testEngineContract(() => ({
  engine: engineOf,
  shape: { nodes: 1, gpus: 2 },
  unreachable: fleet => engineOn(folder, fleet, envOf(join(home, 'nothing'))),
}));

test('passes the join token to SkyPilot only through the environment', async () => {
  const engine = engineOf('t1');
  await engine.launch(orderOf(LaunchId.parse('a'), { gpus: 2 }));
  await expect
    .poll(() => engine.list(), { timeout: 10_000 })
    .toMatchObject(new Map([['a', { state: 'running' }]]));
  expect(readFileSync(join(clusters, 'trainyard-t1-a.token'), 'utf8')).toBe(joinToken);
  expect(readFileSync(join(clusters, 'calls.log'), 'utf8')).not.toContain(joinToken);
  for (const file of ['task.yaml', 'log'])
    expect(readFileSync(join(folder, 'launches/trainyard-t1-a', file), 'utf8')).not.toContain(joinToken);
});

test('reports a launch that SkyPilot refused as failed', async () => {
  const engine = engineOf('t2');
  await engine.launch(orderOf(LaunchId.parse('a'), { gpus: 16 }));
  await expect
    .poll(async () => (await engine.list()).get(LaunchId.parse('a')), { timeout: 10_000 })
    .toMatchObject({ state: 'ended', exit: 'failed' });
});
