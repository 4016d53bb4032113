import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { version } from '../../protocol/version.ts';
import { temporaryFolder } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import {
  brokenAtStart,
  bundle,
  waitForEvent,
  oldVersion,
  openFront,
  openRig,
  openServer,
  requestUpdate,
  typeOf,
  untilIdle,
} from '../support/worker-update-rig.ts';

describe('an update of a worker that fails, waits or is interrupted', () => {
  test('waits for the end of the running job, and dispatches no other job to the worker before the update', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 2 } });
    const secondJob = await server.submit({ config: { trainer: 'selftest', seconds: 1 } });
    await server.watch.job(job, 'running');
    await requestUpdate(server, 'idle', rig);
    await server.watch.jobEnd(secondJob);
    const eventNames = server.watch.seen.map(
      found => `${typeOf(found)} ${'job_id' in found ? found.job_id : ''}`,
    );
    const [jobCompleted, updateDone, nextDispatched] = [
      `job.completed ${job}`,
      'worker.update_done ',
      `job.dispatched ${secondJob}`,
    ].map(each => eventNames.indexOf(each));
    expect(jobCompleted).toBeGreaterThan(-1);
    expect(updateDone).toBeGreaterThan(jobCompleted ?? 0);
    expect(nextDispatched).toBeGreaterThan(updateDone ?? 0);
  });

  test('keeps the old program when the new one exits immediately, reports why, and stops the other updates', async () => {
    const server = await openServer(brokenAtStart(bundle));
    const first = await openRig(server, 'rig-1');
    const second = await openRig(server, 'rig-2');
    await requestUpdate(server, 'idle', first, second);
    await waitForEvent(server, 'worker.update_failed', first.id);
    await waitForEvent(server, 'worker.update_stopped', second.id);
    expect((await first.view()).update?.order).toMatchObject({
      state: 'failed',
      reason: 'The new program exited with code 9 before it registered: it is broken',
    });
    expect((await second.view()).update?.order).toMatchObject({
      state: 'stopped',
      reason: 'The update of rig-1 failed',
    });
    await untilIdle(server, first);
    expect(await first.view()).toMatchObject({ agent_version: oldVersion, status: 'idle' });
    expect(readFileSync(first.file, 'utf8')).toContain(`= "${oldVersion}";`);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 1 } });
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  test('keeps the old program when the download does not have the announced hash', async () => {
    const server = await openServer();
    const front = await openFront(server, { onDownload: response => response.end('something else') });
    const rig = await openRig(server, 'rig-1', [], front.url);
    await requestUpdate(server, 'idle', rig);
    await waitForEvent(server, 'worker.update_failed');
    expect((await rig.view()).update?.order?.reason).toContain('does not match its SHA-256');
    expect(readFileSync(rig.file, 'utf8')).toContain(`= "${oldVersion}";`);
    expect(await rig.view()).toMatchObject({ status: 'idle', agent_version: oldVersion });
  });

  test('starts the update again after a kill -9 in the middle of the download', async () => {
    const server = await openServer();
    let downloads = 0;
    const front = await openFront(server, {
      onDownload(response, forward) {
        downloads += 1;
        if (downloads > 1) return forward();
        response.write(bundle.slice(0, 1_000));
        rig.program.kill('SIGKILL');
      },
    });
    const rig = await openRig(server, 'rig-1', [], front.url);
    await requestUpdate(server, 'idle', rig);
    await rig.program.exited;
    rig.start();
    await waitForEvent(server, 'worker.update_done');
    expect(readFileSync(rig.file, 'utf8')).toBe(bundle);
    expect(readdirSync(dirname(rig.file)).filter(each => each.startsWith('.trainyard'))).toEqual([]);
  });

  test('finishes the update after a kill -9 between the installation and the restart, and keeps the job', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 8 } });
    await server.watch.job(job, 'running');
    await requestUpdate(server, 'now', rig);
    await rig.program.waitForLine(/^Installed version/);
    rig.program.kill('SIGKILL');
    await rig.program.exited;
    rig.start();
    await waitForEvent(server, 'worker.update_done');
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(await rig.view()).toMatchObject({ agent_version: version });
  });

  test('finishes the update after a restart of the server in the middle of the update', async () => {
    const dataDir = temporaryFolder();
    const first = await openServer(bundle, { dataDir });
    const rig = await openRig(first);
    await requestUpdate(first, 'idle', rig);
    await waitForEvent(first, 'worker.update_started');
    const { port } = new URL(first.url);
    await first.close();
    const second = await openServer(bundle, { dataDir, port: Number(port) });
    await vi.waitFor(
      async () => {
        const { workers } = valueOf(await second.admin.call(workersApi.list));
        expect(workers).toMatchObject([{ agent_version: version, update: { order: null } }]);
      },
      { interval: 100, timeout: 25_000 },
    );
    expect(readFileSync(rig.file, 'utf8')).toBe(bundle);
  });
});
