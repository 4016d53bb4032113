import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createUpdater, type UpdaterDeps } from '../../../../agent/update/updater.ts';
import { openTryBook } from '../../../../agent/update/try-book.ts';
import { systemClock } from '../../../../agent/clock.ts';
import { UpdateId, type UpdateReport } from '../../../../protocol/worker-update.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

const name = 'trainyard-worker.mjs';
const order = { id: UpdateId.parse('u_1'), version: '1.0.0', program: name, sha256: 'b'.repeat(64) } as const;

/** Orders an update that the updater must refuse without a download. Returns its final report. */
async function orderRefused(
  overrides: Partial<UpdaterDeps>,
  orderFields: object = {},
): Promise<UpdateReport> {
  const folder = openFolder();
  const path = join(folder, name);
  writeFileSync(path, 'old');
  const failed = Promise.withResolvers<UpdateReport>();
  const updater = createUpdater({
    url: 'http://yard:8001',
    fetch: () => Promise.reject(new Error('the updater must not download')),
    clock: systemClock,
    program: {
      own: { name, path, runner: [] },
      reported: { name, sha256: 'a'.repeat(64), blocked: null, trial: false },
    },
    version: '1.0.0',
    instanceId: 'i',
    tries: { begin: () => 1 },
    failed: null,
    versionOf: () => Promise.reject(new Error('the updater must run no program')),
    async report(report) {
      if (report.state === 'failed') failed.resolve(report);
      return { ok: true, value: { proceed: report.state !== 'failed' } };
    },
    canHandOver: () => true,
    handOver: () => failed.reject(new Error('the updater must not hand over')),
    log: () => {},
    signal: new AbortController().signal,
    ...overrides,
  });
  updater.take({ ...order, ...orderFields });
  const report = await failed.promise;
  expect(updater.staged()).toBeNull();
  return report;
}

test('refuses an update to a version that is older than the worker', async () => {
  expect((await orderRefused({ version: '1.0.1' })).reason).toBe(
    'Version 1.0.0 is older than this worker, 1.0.1',
  );
});

test('refuses an update with a program for another platform', async () => {
  const program = 'trainyard-worker-linux-x64';
  expect((await orderRefused({}, { program })).reason).toBe(
    `The order is for ${program}, and this is ${name}`,
  );
});

test('refuses every update when the owner forbids updates', async () => {
  const reported = { name, sha256: null, blocked: 'off', trial: false } as const;
  expect((await orderRefused({ program: { own: null, reported } })).reason).toContain('(off)');
});

test('refuses an update after three interruptions, also across processes', async () => {
  const folder = openFolder();
  for (let attempt = 1; attempt <= 3; attempt += 1) openTryBook(folder).begin(order.id);
  const tries = openTryBook(folder);
  expect((await orderRefused({ tries })).reason).toContain('interrupted 3 times');
  expect(tries.begin(UpdateId.parse('u_2'))).toBe(1);
});

test('reports the failed trial of a new program, and does not repeat the update', async () => {
  const failed = { id: order.id, reason: 'it is broken' };
  expect(await orderRefused({ failed })).toEqual({ id: order.id, state: 'failed', reason: 'it is broken' });
});
