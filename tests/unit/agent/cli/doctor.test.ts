import type { ProbedTrainer } from '../../../../agent/trainers/index.ts';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadAgentConfig } from '../../../../agent/config/index.ts';
import { type DoctorDeps, examineWorker } from '../../../../agent/cli/doctor.ts';
import { makeReport } from '../../../../agent/gpu/report.ts';
import type { Fetch } from '../../../../protocol/client.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

/** An orchestrator of this version. */
const orchestratorWith =
  (version: string): Fetch =>
  async () =>
    Response.json({ name: 'trainyard', version, protocol: 2 });
const unreachable: Fetch = () =>
  Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));

/** Creates a rig on which every check passes. `overrides` and `flags` change it. */
function createRig(
  overrides: Partial<Omit<DoctorDeps, 'config'>> = {},
  flags: Readonly<Record<string, unknown>> = {},
) {
  const home = openFolder();
  const tokenFile = join(home, 'token');
  writeFileSync(tokenFile, 'wt_1', { mode: 0o600 });
  writeFileSync(join(home, 'python'), '#!/bin/sh\n', { mode: 0o755 });
  const env = { PATH: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: join(home, 'state') };
  const loaded = loadAgentConfig(
    { 'orchestrator-url': 'http://yard:8001', name: 'rig-1', 'worker-token-file': tokenFile, ...flags },
    env,
  );
  if (!loaded.ok) throw new Error(loaded.message);
  /** Runs all checks. Returns the result and the text of each check, by its name. */
  const examine = async () => {
    const gpus = makeReport('cpu', []);
    const deps = {
      fetch: orchestratorWith('1.0.0'),
      gpus,
      troubles: [],
      version: '1.0.0',
      trainers: [trainer],
      free: () => 1e12,
      ...overrides,
    };
    const findings = await examineWorker({ config: loaded.value, ...deps });
    return Object.fromEntries(findings.map(({ what, result, detail }) => [what, [result, detail]]));
  };
  return { tokenFile, examine };
}

const trainer: ProbedTrainer = {
  choice: { kind: 'package', name: 'simpletuner', python: null },
  version: '4.1.0',
  problem: null,
};

/** The findings on a healthy rig. */
const healthy = {
  Orchestrator: ['ok', 'http://yard:8001 answers, and has the same version as this worker: 1.0.0'],
  Token: ['ok', expect.stringContaining('readable only by its owner')],
  'State folder': ['ok', expect.stringContaining('which will be created at the first start')],
  'Work folder': ['ok', expect.stringContaining('which will be created at the first start')],
  Disk: ['ok', '931.3 GB are free for jobs'],
  'Training data': ['ok', expect.stringMatching(/^The cache may use .* and contains 0 bytes$/)],
  GPUs: ['skipped', expect.stringContaining('run on other workers')],
  Trainer: ['ok', 'SimpleTuner 4.1.0'],
};

test('passes every check on a healthy rig', async () => {
  expect(await createRig().examine()).toEqual(healthy);
});

test.each<readonly [check: string, overrides: Partial<DoctorDeps>, detail: RegExp]>([
  ['Orchestrator', { fetch: unreachable }, /^Connection refused: .*Check the address and port/],
  [
    'Orchestrator',
    { fetch: orchestratorWith('2.0.0') },
    /is version 2\.0\.0, but this worker is version 1\.0\.0: run "update"/,
  ],
  ['Orchestrator', { fetch: async () => new Response('<html>') }, /does not answer like an orchestrator/],
  ['Disk', { free: () => 1e9 }, /^Only 0\.9 GB are free .*free space/],
  [
    'GPUs',
    { gpus: makeReport('cpu', [], { kind: 'driver_mismatch', message: 'Reload the driver' } as never) },
    /^Reload the driver$/,
  ],
  [
    'GPUs',
    {
      gpus: makeReport('cuda', [{ index: 0, name: 'A100' }]),
      troubles: [
        { gpu: 0, kind: 'errors', detail: '2 memory errors: reset it' },
        { gpu: 0, kind: 'held', detail: 'process 9 is left over of job j_1', ours: true },
      ],
    },
    /^GPU 0: 2 memory errors: reset it$/,
  ],
  ['Trainer', { trainers: [{ ...trainer, problem: 'No trainer found' }] }, /^No trainer found$/],
])('reports only the check "%s" as failed, with the reason', async (check, overrides, detail) => {
  expect(await createRig(overrides).examine()).toEqual({
    ...healthy,
    [check]: ['failed', expect.stringMatching(detail)],
  });
});

test('checks that the cache limit for training data fits the disk', async () => {
  const { 'Training data': byDefault } = await createRig().examine();
  expect(byDefault).toEqual(['ok', 'The cache may use 500.0 GB, and contains 0 bytes']);
  const { 'Training data': lower } = await createRig({}, { 'data-cache': '200GB' }).examine();
  expect(lower).toEqual(['ok', 'The cache may use 200.0 GB, and contains 0 bytes']);
  const { 'Training data': tooLarge } = await createRig({}, { 'data-cache': '2TB' }).examine();
  expect(tooLarge).toEqual([
    'failed',
    expect.stringMatching(
      /^The cache may use 2\.0 TB, but the disk of .* has room for only 1\.0 TB: lower --data-cache, or/,
    ),
  ]);
});

test('reports a token file that others can read, a missing token file, and a missing token', async () => {
  const readable = createRig();
  chmodSync(readable.tokenFile, 0o644);
  expect((await readable.examine())['Token']).toEqual(['failed', expect.stringContaining('chmod 600')]);
  const missing = createRig({}, { 'worker-token-file': '/nowhere/token' });
  expect((await missing.examine())['Token']).toEqual([
    'failed',
    expect.stringContaining('could not be read'),
  ]);
  const withoutToken = createRig({}, { 'worker-token-file': undefined });
  expect((await withoutToken.examine())['Token']).toEqual([
    'failed',
    expect.stringContaining('The worker token is missing'),
  ]);
});

test('reports a work folder that cannot be created', async () => {
  const file = join(openFolder(), 'file');
  writeFileSync(file, '');
  const findings = await createRig({}, { 'work-dir': join(file, 'jobs') }).examine();
  expect(findings['Work folder']).toEqual(['failed', expect.stringMatching(/is not a folder.*--work-dir/)]);
});
