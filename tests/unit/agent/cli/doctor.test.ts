import type { ProbedTrainer } from '../../../../agent/trainers/index.ts';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadAgentConfig } from '../../../../agent/config/index.ts';
import { type DoctorDeps, examineWorker } from '../../../../agent/cli/doctor.ts';
import { makeReport } from '../../../../agent/gpu/report.ts';
import type { Fetch } from '../../../../protocol/client.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

const answering =
  (version: string): Fetch =>
  async () =>
    Response.json({ name: 'trainyard', version, protocol: 2 });
const silent: Fetch = () => Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));

/** Creates a machine on which every check passes, except for the changes in `more` and `flags`. */
function open(more: Partial<Omit<DoctorDeps, 'config'>> = {}, flags: Readonly<Record<string, unknown>> = {}) {
  const home = openFolder();
  const file = join(home, 'token');
  writeFileSync(file, 'wt_1', { mode: 0o600 });
  writeFileSync(join(home, 'python'), '#!/bin/sh\n', { mode: 0o755 });
  const env = { PATH: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: join(home, 'state') };
  const loaded = loadAgentConfig(
    { 'orchestrator-url': 'http://yard:8001', name: 'rig-1', 'worker-token-file': file, ...flags },
    env,
  );
  if (!loaded.ok) throw new Error(loaded.message);
  const look = async () => {
    const gpus = makeReport('cpu', []);
    const parts = {
      fetch: answering('1.0.0'),
      gpus,
      troubles: [],
      version: '1.0.0',
      trainers: [trainer],
      free: () => 1e12,
      ...more,
    };
    const findings = await examineWorker({ config: loaded.value, ...parts });
    return Object.fromEntries(findings.map(({ what, result, detail }) => [what, [result, detail]]));
  };
  return { home, file, look };
}

const trainer: ProbedTrainer = {
  choice: { kind: 'package', name: 'simpletuner', python: null },
  version: '4.1.0',
  problem: null,
};

const well = {
  Orchestrator: ['ok', 'http://yard:8001 answers, version 1.0.0, as this worker'],
  Token: ['ok', expect.stringContaining('readable only by its owner')],
  'State folder': ['ok', expect.stringContaining('which will be created at the first start')],
  'Work folder': ['ok', expect.stringContaining('which will be created at the first start')],
  Disk: ['ok', '931.3 GB are free for jobs'],
  'Training data': ['ok', expect.stringMatching(/^The cache may use .* and contains 0 bytes$/)],
  GPUs: ['skipped', expect.stringContaining('run on other workers')],
  Trainer: ['ok', 'SimpleTuner 4.1.0'],
};

test('passes every check on a healthy rig', async () => {
  expect(await open().look()).toEqual(well);
});

test.each<readonly [what: string, more: Partial<DoctorDeps>, said: RegExp]>([
  ['Orchestrator', { fetch: silent }, /^Connection refused: .*Check the address and port/],
  [
    'Orchestrator',
    { fetch: answering('2.0.0') },
    /is version 2\.0\.0, and this worker 1\.0\.0: run "update"/,
  ],
  ['Orchestrator', { fetch: async () => new Response('<html>') }, /does not answer like an orchestrator/],
  ['Disk', { free: () => 1e9 }, /^Only 0\.9 GB are free .*free space/],
  [
    'GPUs',
    { gpus: makeReport('cpu', [], { kind: 'driver_mismatch', message: 'Load the driver anew' } as never) },
    /^Load the driver anew$/,
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
])('reports a failed check "%s" alone, with a remedy', async (what, more, said) => {
  expect(await open(more).look()).toEqual({ ...well, [what]: ['failed', expect.stringMatching(said)] });
});

test('checks that the cache limit for training data fits the disk', async () => {
  const { 'Training data': half } = await open().look();
  expect(half).toEqual(['ok', 'The cache may use 500.0 GB, and contains 0 bytes']);
  const { 'Training data': fits } = await open({}, { 'data-cache': '200GB' }).look();
  expect(fits).toEqual(['ok', 'The cache may use 200.0 GB, and contains 0 bytes']);
  const { 'Training data': large } = await open({}, { 'data-cache': '2TB' }).look();
  expect(large).toEqual([
    'failed',
    expect.stringMatching(
      /^The cache may use 2\.0 TB, but the disk of .* has room for only 1\.0 TB: lower --data-cache, or/,
    ),
  ]);
});

test('reports a token file that others can read, that is missing, and a missing token', async () => {
  const readable = open();
  chmodSync(readable.file, 0o644);
  expect((await readable.look())['Token']).toEqual(['failed', expect.stringContaining('chmod 600')]);
  const gone = open({}, { 'worker-token-file': '/nowhere/token' });
  expect((await gone.look())['Token']).toEqual(['failed', expect.stringContaining('could not be read')]);
  const none = open({}, { 'worker-token-file': undefined });
  expect((await none.look())['Token']).toEqual([
    'failed',
    expect.stringContaining('The worker token is missing'),
  ]);
});

test('reports a work folder that cannot be created', async () => {
  const inTheWay = join(openFolder(), 'file');
  writeFileSync(inTheWay, '');
  const found = await open({}, { 'work-dir': join(inTheWay, 'jobs') }).look();
  expect(found['Work folder']).toEqual(['failed', expect.stringMatching(/is not a folder.*--work-dir/)]);
});
