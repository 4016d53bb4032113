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

/** An updater that must not download anything. Returns the report that ends the update. */
async function refuse(
  more: Partial<UpdaterDeps>,
  given: typeof order | object = order,
): Promise<UpdateReport> {
  const folder = openFolder();
  const path = join(folder, name);
  writeFileSync(path, 'old');
  const ended = Promise.withResolvers<UpdateReport>();
  const updater = createUpdater({
    url: 'http://yard:8001',
    fetch: () => Promise.reject(new Error('downloads')),
    clock: systemClock,
    program: {
      own: { name, path, runner: [] },
      reported: { name, sha256: 'a'.repeat(64), blocked: null, trial: false },
    },
    version: '1.0.0',
    instanceId: 'i',
    tries: { begin: () => 1 },
    failed: null,
    versionOf: () => Promise.reject(new Error('runs nothing')),
    async report(report) {
      if (report.state === 'failed') ended.resolve(report);
      return { ok: true, value: { proceed: report.state !== 'failed' } };
    },
    canHandOver: () => true,
    handOver: () => ended.reject(new Error('handed over')),
    log: () => {},
    signal: new AbortController().signal,
    ...more,
  });
  updater.take({ ...order, ...given });
  const report = await ended.promise;
  expect(updater.staged()).toBeNull();
  return report;
}

test('refuses a version that is older than its own', async () => {
  expect((await refuse({ version: '1.0.1' })).reason).toBe('Version 1.0.0 is older than this worker, 1.0.1');
});

test('refuses a program for another platform', async () => {
  const given = { program: 'trainyard-worker-linux-x64' };
  expect((await refuse({}, given)).reason).toBe(`The order is for ${given.program}, and this is ${name}`);
});

test('refuses every order when its owner forbids updates', async () => {
  const reported = { name, sha256: null, blocked: 'off', trial: false } as const;
  expect((await refuse({ program: { own: null, reported } })).reason).toContain('(off)');
});

test('gives up after it was interrupted three times, also across processes', async () => {
  const folder = openFolder();
  for (let process = 1; process <= 3; process += 1) openTryBook(folder).begin(order.id);
  const tries = openTryBook(folder);
  expect((await refuse({ tries })).reason).toContain('interrupted 3 times');
  expect(tries.begin(UpdateId.parse('u_2'))).toBe(1);
});

test('reports the failure of the trial once, and does not begin again', async () => {
  const failed = { id: order.id, reason: 'it is broken' };
  expect(await refuse({ failed })).toEqual({ id: order.id, state: 'failed', reason: 'it is broken' });
});
