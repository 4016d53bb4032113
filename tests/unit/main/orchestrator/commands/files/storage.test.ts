// See docs/internals/semantics.md, section 8, and docs/internals/faults.md, F21. T, the heartbeat timeout, is 120 s.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';

// The log must contain only commands that the orchestrator ran itself and that failed because of the full disk.
function expectOnlyFailedCommands(fleet: Fleet): void {
  for (const error of fleet.errors.splice(0))
    expect(error).toMatch(/^command\.failed: StorageError: database or disk is full/);
}

const expectRefused = (call: Promise<unknown>) => expect(call).rejects.toThrow('database or disk is full');

describe('while the disk is full', () => {
  test('answers heartbeats and counts them as contact while the disk is full', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.setDiskFull(true);
    for (let seconds = 0; seconds < 600; seconds += 30) {
      await fleet.clock.advance(30_000);
      expect((await rig.beat(job)).ok).toBe(true);
    }
    await fleet.setDiskFull(false);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    expect(fleet.trail(rig.id)).not.toContain('worker.offline');
    expectOnlyFailedCommands(fleet);
  });

  test('counts refused registrations and reports as contact while the disk is full', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.setDiskFull(true);
    await fleet.clock.advance(100_000);
    await expectRefused(rig.register({ currentJobId: job }));
    await fleet.clock.advance(100_000);
    await expectRefused(rig.report(job, 'running'));
    await fleet.setDiskFull(false);
    await fleet.clock.advance(119_999);
    expect(rig.view().status).toBe('busy');
    expectOnlyFailedCommands(fleet);
  });

  test('publishes no event and sends no command for a refused change while the disk is full', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const seq = fleet.orchestrator.lifecycle.lastSeq();
    await fleet.setDiskFull(true);
    await expectRefused(fleet.submit());
    await expectRefused(fleet.drain(rig));
    expect([rig.commands, fleet.orchestrator.lifecycle.lastSeq()]).toEqual([[], seq]);
    await fleet.setDiskFull(false);
    expect(rig.view()).toMatchObject({ status: 'idle', drain: null });
    expect(rig.commands).toEqual([]);
    expectOnlyFailedCommands(fleet);
  });

  test('accepts a repeated final report that the full disk refused before', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.setDiskFull(true);
    await expectRefused(rig.report(job, 'completed', { progress: 50 }));
    expect(fleet.job(job).status).toBe('running');
    await fleet.setDiskFull(false);
    expect(await rig.report(job, 'completed', { progress: 50 })).toEqual({
      ok: true,
      value: { duplicate: false },
    });
    expect(fleet.job(job).status).toBe('completed');
    expectOnlyFailedCommands(fleet);
  });
});

describe('when the disk has space again', () => {
  test('dispatches pending jobs as soon as the disk has space again', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit();
    await fleet.setDiskFull(true);
    await expectRefused(fleet.addWorker());
    await fleet.setDiskFull(false);
    const lateRig = await fleet.addWorker();
    await lateRig.register();
    await fleet.setDiskFull(true);
    await lateRig.openStream();
    expect(lateRig.commands).toEqual([]);
    await fleet.setDiskFull(false);
    expect(lateRig.lastOffer().job_id).toBe(jobId);
    expect(fleet.trail(lateRig.id)).toContain('worker.connected');
    expectOnlyFailedCommands(fleet);
  });

  test('sends the offer and the cancel on a stream that opened while the disk was full, once the disk has space', async () => {
    const fleet = await openFleet();
    const offerRig = await fleet.addIdleWorker();
    const cancelRig = await fleet.addIdleWorker();
    const { jobId: offered } = await fleet.submit();
    const running = await fleet.runJob(cancelRig);
    await cancelRig.stream.drop();
    await fleet.cancel(running);
    await fleet.setDiskFull(true);
    for (const rig of [offerRig, cancelRig]) await rig.openStream();
    expect(offerRig.stream.commands).toEqual([]);
    expect(cancelRig.stream.commands).toEqual([]);
    await fleet.setDiskFull(false);
    expect(offerRig.stream.commands).toMatchObject([{ type: 'job_submit', job_id: offered }]);
    expect(cancelRig.stream.commands).toMatchObject([{ type: 'job_cancel', job_id: running }]);
    expectOnlyFailedCommands(fleet);
  });

  test('applies an overdue heartbeat timeout and takeover as soon as the disk has space again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.setDiskFull(true);
    await fleet.clock.advance(300_000);
    expect(fleet.job(job).status).toBe('running');
    await fleet.setDiskFull(false);
    expect(fleet.trail(rig.id)).toContain('worker.offline');
    expect(fleet.job(job).status).not.toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
    expectOnlyFailedCommands(fleet);
  });

  test('tells an ephemeral worker to leave after its job when the disk has space again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.report(await fleet.runJob(rig), 'completed');
    await rig.stream.drop();
    await fleet.setDiskFull(true);
    await rig.openStream();
    expect(rig.stream.commands).toEqual([]);
    await fleet.setDiskFull(false);
    expect(rig.stream.commands).toEqual([{ type: 'shutdown', reason: 'job_done' }]);
    expectOnlyFailedCommands(fleet);
  });
});

describe('deadlines of changes that the full disk refused', () => {
  test('does not stop a job at the deadline of a refused drain', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.setDiskFull(true);
    await expectRefused(fleet.drain(rig, { deadlineMs: 10_000 }));
    await fleet.setDiskFull(false);
    await fleet.clock.advance(100_000);
    expect(fleet.job(job).status).toBe('running');
    expectOnlyFailedCommands(fleet);
  });

  test('stops the job at the drain deadline when the undrain was refused', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.drain(rig, { deadlineMs: 10_000 });
    await fleet.setDiskFull(true);
    await expectRefused(fleet.undrain(rig));
    await fleet.setDiskFull(false);
    await fleet.clock.advance(10_000);
    expect(fleet.job(job).status).toBe('cancelling');
    expectOnlyFailedCommands(fleet);
  });

  test('keeps the timeout of an attempt when its final report was refused', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { timeout_s: 60 });
    await fleet.setDiskFull(true);
    await expectRefused(rig.report(job, 'failed', { signal: 'SIGTERM' }));
    await fleet.setDiskFull(false);
    await fleet.clock.advance(59_999);
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
    expectOnlyFailedCommands(fleet);
  });

  test('counts the timeout from the accepted claim when an earlier claim was refused', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId: job } = await fleet.submit({ timeout_s: 60 });
    await fleet.setDiskFull(true);
    await expectRefused(rig.report(job, 'starting'));
    await fleet.clock.advance(30_000);
    await fleet.setDiskFull(false);
    await rig.report(job, 'starting');
    await fleet.clock.advance(59_999);
    expect(fleet.job(job).status).toBe('starting');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('cancelling');
    expectOnlyFailedCommands(fleet);
  });

  test('removes an ephemeral worker an hour after its disconnect when its reconnection was refused', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.setDiskFull(true);
    await expectRefused(rig.beat());
    await expectRefused(rig.register());
    await fleet.setDiskFull(false);
    await fleet.clock.advance(3_600_000);
    expect(fleet.orchestrator.workers.list(undefined)).toEqual([]);
    expectOnlyFailedCommands(fleet);
  });

  test('keeps the status "connecting" of a worker whose first registration was refused', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    await fleet.setDiskFull(true);
    await expectRefused(rig.register());
    await fleet.setDiskFull(false);
    expect(rig.view()).toMatchObject({ status: 'connecting', status_reason: 'never_registered' });
    expectOnlyFailedCommands(fleet);
  });
});
