import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync, truncateSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { untilDead } from '../support/own-processes.ts';
import type { Bench } from './bench.ts';
import { orderedFailpoint } from './orders.ts';
import type { Scenario } from './scenario.ts';
import { waitForHeartbeats, expectEndedUntouched, eventsOf, fieldOf, reportsOf } from './steps.ts';

const somewhere = { worker_labels: { rig: 'rig-1' } };

/** Submits jobs until the disk is full, and records each accepted one. */
async function submitUntilFull(bench: Bench): Promise<void> {
  const config = { run_ms: 50, padding: 'x'.repeat(8_000) };
  for (let count = 0; count < 200; count += 1) {
    const { status, body, headers } = await bench.admin.call('POST', '/api/queue/submit', {
      config,
      worker_labels: { rig: 'rig-2' },
    });
    if (status === 507) {
      assert.ok(Number(headers.get('retry-after')) > 0, 'a 507 without Retry-After');
      return;
    }
    assert.equal(status, 200, JSON.stringify(body));
    bench.recordAccepted(String(fieldOf(body, 'job_id')));
  }
  assert.fail('the disk never became full');
}

/** Inverts all bits of the page in which the jobs table starts. */
function flipPage(file: string): void {
  const db = new Database(file, { readonly: true });
  const root = db.prepare<[], number>("SELECT rootpage FROM sqlite_master WHERE name = 'jobs'").pluck().get();
  const pageBytes = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const handle = openSync(file, 'r+');
  const page = Buffer.alloc(pageBytes);
  const at = ((root ?? 2) - 1) * pageBytes;
  readSync(handle, page, 0, pageBytes, at);
  writeSync(
    handle,
    page.map(byte => byte ^ 0xff),
    0,
    pageBytes,
    at,
  );
  closeSync(handle);
}

async function stopInOrder({ server }: Bench): Promise<void> {
  server.kill('SIGTERM');
  assert.deepEqual(await server.ended(), { code: 0, signal: null });
}

export const storageFaults: readonly Scenario[] = [
  {
    id: 'F21',
    title: 'answers submissions with 507 on a full disk, keeps every worker, and recovers by itself',
    quick: false,
    async run(bench) {
      const disk = orderedFailpoint(bench, new URL('../support/failpoint-disk.ts', import.meta.url));
      await bench.server.start({ failpoint: disk.failpoint });
      const rig = await bench.rig('rig-1');
      await bench.rig('rig-2');
      const job = await bench.submit({}, { on: rig });
      const pid = await bench.untilTrainerRuns(job);
      await bench.events.job(job.id, 'job.running');
      await disk.give('full', bench.server);
      await submitUntilFull(bench);
      // Wait for longer than T.
      await waitForHeartbeats(rig, 6);
      job.finish();
      await untilDead(pid);
      await rig.proxy.waitFor('a refused report', () =>
        reportsOf(rig, job, 'completed').some(({ answer }) => answer?.status === 507),
      );
      assert.equal((await bench.admin.job(job.id)).status, 'running', 'read while the disk is full');
      assert.deepEqual(eventsOf(bench, ['worker.offline', 'job.recovering', 'job.requeued']), []);
      await disk.give('free', bench.server);
      await bench.events.job(job.id, 'job.completed');
      await expectEndedUntouched(bench, job, pid);
      const after = await bench.submit({ run_ms: 50 });
      await bench.events.job(after.id, 'job.completed');
    },
  },
  {
    id: 'F22',
    title: 'detects a corrupt database page at the start, sets the file aside, and restores the backup',
    quick: false,
    async run(bench) {
      const { server } = bench;
      await server.start();
      const rig = await bench.rigWithoutAgent('rig-1');
      const job = await bench.submit({ run_ms: 50 }, somewhere);
      await bench.events.job(job.id, 'job.submitted');
      await stopInOrder(bench);
      await server.start();
      await server.said(/"backup\.made"/);
      await stopInOrder(bench);
      flipPage(server.databaseFile);
      bench.events.expectReset();
      await server.start();
      const [ready] = await server.said(/^\{"ready":true.*"restored":.*/);
      assert.match(ready, /"damage":"is damaged/);
      assert.match(ready, /"set_aside":"[^"]+\.damaged-/);
      // Readers may have received events that the backup does not contain, so they are reset.
      await bench.events.event('a reset', ({ kind }) => kind === 'reset');
      rig.start();
      await bench.events.job(job.id, 'job.completed');
    },
  },
  {
    id: 'F22',
    title: 'refuses to start with a truncated database and no backup, and leaves the file unchanged',
    quick: false,
    async run(bench) {
      const { server } = bench;
      await server.start();
      const rig = await bench.rigWithoutAgent('rig-1');
      const job = await bench.submit({ run_ms: 50 }, somewhere);
      await stopInOrder(bench);
      const whole = readFileSync(server.databaseFile);
      truncateSync(server.databaseFile, Math.floor(whole.length / 2));
      server.launch();
      assert.deepEqual(await server.ended(), { code: 1, signal: null });
      assert.match(server.lines().at(-1) ?? '', /no whole backup .* put a good copy in its place/);
      assert.deepEqual(readFileSync(server.databaseFile), whole.subarray(0, Math.floor(whole.length / 2)));
      const handle = openSync(server.databaseFile, 'r+');
      writeSync(handle, whole, 0, whole.length, 0);
      closeSync(handle);
      await server.start();
      rig.start();
      await bench.events.job(job.id, 'job.completed');
    },
  },
  {
    id: 'F23',
    title: 'exits with 73 for a second orchestrator on the same folder, and the first one keeps working',
    quick: true,
    async run(bench) {
      await bench.server.start();
      const rig = await bench.rig('rig-1');
      const rival = bench.server.startOnSameFolder();
      assert.deepEqual(await rival.exited, { code: 73, signal: null });
      assert.match(
        rival.lines.join('\n'),
        new RegExp(`in use by another orchestrator, process ${bench.server.pid}`),
      );
      const job = await bench.submit({ run_ms: 50 }, { on: rig });
      await bench.events.job(job.id, 'job.completed');
    },
  },
];
