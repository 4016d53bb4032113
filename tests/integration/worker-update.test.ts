import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { version } from '../../protocol/version.ts';
import { workerUpdatesApi } from '../../protocol/worker-updates-api.ts';
import { valueOf } from '../support/server.ts';
import {
  bundle,
  waitForEvent,
  oldVersion,
  openRig,
  openServer,
  requestUpdate,
  stepsIn,
  typeOf,
  withoutUpdates,
} from '../support/worker-update-rig.ts';

/** tests/full has the tests of updates that fail, wait or are interrupted. */
describe('an update of a worker from the server', () => {
  test('installs the new program while the worker is idle, and keeps the old program', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    expect(await rig.view()).toMatchObject({ update: { available: true, blocked: null, order: null } });
    expect(await requestUpdate(server, 'idle', rig)).toMatchObject([{ name: 'rig-1', accepted: true }]);
    await waitForEvent(server, 'worker.update_done');
    expect(await rig.view()).toMatchObject({
      agent_version: version,
      update: { available: false, blocked: 'current', order: null },
    });
    expect(readFileSync(rig.file, 'utf8')).toBe(bundle);
    expect(readFileSync(`${rig.file}.previous`, 'utf8')).toContain(oldVersion);
    expect(readdirSync(dirname(rig.file)).filter(each => each.startsWith('.trainyard'))).toEqual([]);
    expect(server.watch.seen.map(typeOf)).not.toContain('worker.offline');
  });

  test('continues a running job in the same attempt, without a lost line of its log', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 8 } });
    await server.watch.job(job, 'running');
    await requestUpdate(server, 'now', rig);
    await waitForEvent(server, 'worker.update_done');
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(await rig.view()).toMatchObject({ agent_version: version });
    const allSteps = Array.from({ length: 80 }, (_, index) => index + 1);
    // The worker sends the last lines after its final report.
    await vi.waitFor(async () => expect(await stepsIn(server, job)).toEqual(allSteps), {
      timeout: 10_000,
      interval: 100,
    });
  });

  test('refuses to update a worker that is too old, forbids updates or is already current', async () => {
    const server = await openServer();
    const tooOld = await openRig(server, 'rig-1', [], server.url, withoutUpdates);
    const forbidding = await openRig(server, 'rig-2', ['--no-remote-update']);
    const current = await openRig(server, 'rig-3', [], server.url, () => bundle);
    const answer = valueOf(
      await server.admin.call(workerUpdatesApi.request, {
        body: { workers: [tooOld.id, forbidding.id, current.id] },
      }),
    );
    expect(answer.workers.map(({ refusal }) => refusal)).toEqual(['too_old', 'off', 'current']);
    expect(answer.command).toMatch(/^trainyard-worker update --orchestrator-url .* --sums [0-9a-f]{64}$/);
    expect((await tooOld.view()).update).toMatchObject({ available: true, blocked: 'too_old' });
    expect((await forbidding.view()).update).toMatchObject({ available: true, blocked: 'off' });
  });
});
