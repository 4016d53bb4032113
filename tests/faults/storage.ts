import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync, truncateSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { untilDead } from '../support/own-processes.ts';
import type { FaultFleet } from './fault-fleet.ts';
import { createControlledFailpoint } from './controlled-failpoint.ts';
import type { Scenario } from './scenario.ts';
import { waitForHeartbeats, expectOneAttempt, eventsOf, fieldOf, reportsOf } from './steps.ts';

const onRig1 = { worker_labels: { rig: 'rig-1' } };

/** Submits jobs until the server responds with 507, and records each accepted job. */
async function submitUntilFull(fleet: FaultFleet): Promise<void> {
  const config = { run_ms: 50, padding: 'x'.repeat(8_000) };
  for (let count = 0; count < 200; count += 1) {
    const { status, body, headers } = await fleet.admin.call('POST', '/api/queue/submit', {
      config,
      worker_labels: { rig: 'rig-2' },
    });
    if (status === 507) {
      assert.ok(Number(headers.get('retry-after')) > 0, 'a 507 without Retry-After');
      return;
    }
    assert.equal(status, 200, JSON.stringify(body));
    fleet.recordAccepted(String(fieldOf(body, 'job_id')));
  }
  assert.fail('the disk never became full');
}

/** Inverts all bits of the database page in which the jobs table starts. */
function invertPage(file: string): void {
  const db = new Database(file, { readonly: true });
  const root = db.prepare<[], number>("SELECT rootpage FROM sqlite_master WHERE name = 'jobs'").pluck().get();
  const pageBytes = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const handle = openSync(file, 'r+');
  const page = Buffer.alloc(pageBytes);
  // SQLite numbers pages from 1.
  const offset = ((root ?? 2) - 1) * pageBytes;
  readSync(handle, page, 0, pageBytes, offset);
  const inverted = page.map(byte => byte ^ 0xff);
  writeSync(handle, inverted, 0, pageBytes, offset);
  closeSync(handle);
}

async function stopServer({ server }: FaultFleet): Promise<void> {
  server.kill('SIGTERM');
  assert.deepEqual(await server.ended(), { code: 0, signal: null });
}

export const storageFaults: readonly Scenario[] = [
  {
    id: 'F21',
    title:
      'refuses submissions with 507 on a full disk, marks no worker offline, and recovers after space is freed',
    quick: false,
    async run(fleet) {
      const disk = createControlledFailpoint(fleet, new URL('../support/failpoint-disk.ts', import.meta.url));
      await fleet.server.start({ failpoint: disk.failpoint });
      const rig = await fleet.startRig('rig-1');
      await fleet.startRig('rig-2');
      const job = await fleet.submit({}, { on: rig });
      const pid = await fleet.waitForTrainer(job);
      await fleet.events.job(job.id, 'job.running');
      await disk.sendOrder('full', fleet.server);
      await submitUntilFull(fleet);
      // Six heartbeats take longer than the heartbeat timeout.
      await waitForHeartbeats(rig, 6);
      job.finish();
      await untilDead(pid);
      await rig.proxy.waitFor('a refused report', () =>
        reportsOf(rig, job, 'completed').some(({ answer }) => answer?.status === 507),
      );
      assert.equal((await fleet.admin.job(job.id)).status, 'running', 'read while the disk is full');
      assert.deepEqual(eventsOf(fleet, ['worker.offline', 'job.recovering', 'job.requeued']), []);
      await disk.sendOrder('free', fleet.server);
      await fleet.events.job(job.id, 'job.completed');
      await expectOneAttempt(fleet, job, pid);
      const nextJob = await fleet.submit({ run_ms: 50 });
      await fleet.events.job(nextJob.id, 'job.completed');
    },
  },
  {
    id: 'F22',
    title: 'detects a corrupt database page at the start, sets the database aside, and restores the backup',
    quick: false,
    async run(fleet) {
      const { server } = fleet;
      await server.start();
      const rig = await fleet.createRig('rig-1');
      const job = await fleet.submit({ run_ms: 50 }, onRig1);
      await fleet.events.job(job.id, 'job.submitted');
      await stopServer(fleet);
      await server.start();
      await server.waitForLine(/"backup\.made"/);
      await stopServer(fleet);
      invertPage(server.databaseFile);
      fleet.events.expectReset();
      await server.start();
      const [ready] = await server.waitForLine(/^\{"ready":true.*"restored":.*/);
      assert.match(ready, /"damage":"is damaged/);
      assert.match(ready, /"set_aside":"[^"]+\.damaged-/);
      // Readers may have received events that the backup does not contain, so the server resets them.
      await fleet.events.event('a reset', ({ kind }) => kind === 'reset');
      rig.start();
      await fleet.events.job(job.id, 'job.completed');
    },
  },
  {
    id: 'F22',
    title: 'refuses to start with a truncated database and no backup, and leaves the file unchanged',
    quick: false,
    async run(fleet) {
      const { server } = fleet;
      await server.start();
      const rig = await fleet.createRig('rig-1');
      const job = await fleet.submit({ run_ms: 50 }, onRig1);
      await stopServer(fleet);
      const contents = readFileSync(server.databaseFile);
      const halfLength = Math.floor(contents.length / 2);
      truncateSync(server.databaseFile, halfLength);
      server.launch();
      assert.deepEqual(await server.ended(), { code: 1, signal: null });
      assert.match(server.lines().at(-1) ?? '', /no whole backup .* put a good copy in its place/);
      assert.deepEqual(readFileSync(server.databaseFile), contents.subarray(0, halfLength));
      const handle = openSync(server.databaseFile, 'r+');
      writeSync(handle, contents, 0, contents.length, 0);
      closeSync(handle);
      await server.start();
      rig.start();
      await fleet.events.job(job.id, 'job.completed');
    },
  },
  {
    id: 'F23',
    title:
      'makes a second orchestrator on the same folder exit with code 73, and does not disturb the first orchestrator',
    quick: true,
    async run(fleet) {
      await fleet.server.start();
      const rig = await fleet.startRig('rig-1');
      const second = fleet.server.startOnSameFolder();
      assert.deepEqual(await second.exited, { code: 73, signal: null });
      assert.match(
        second.lines.join('\n'),
        new RegExp(`in use by another orchestrator, process ${fleet.server.pid}`),
      );
      const job = await fleet.submit({ run_ms: 50 }, { on: rig });
      await fleet.events.job(job.id, 'job.completed');
    },
  },
];
