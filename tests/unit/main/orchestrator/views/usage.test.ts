import { describe, expect, test } from 'vitest';
import { join } from 'node:path';
import type { JobId } from '../../../../../protocol/ids.ts';
import type { FleetWorker } from '../../../../support/fleet-worker.ts';
import type { Fleet } from '../../../../support/fleet.ts';
import { openFleet, openFolder } from '../../../../support/fleet-bench.ts';
import { openPool } from '../pool-fixture.ts';

const hourMs = 3_600_000;
const electricity = { price_per_kwh: 0.5, currency: 'EUR' };

const figures = (index: number, watts: number | null) => ({
  index,
  utilization: null,
  vram_used_gb: null,
  temperature_c: null,
  power_w: watts,
  power_limit_w: null,
});

/** Sends a heartbeat every 30 s for `ms` milliseconds. `watts` has the power of GPU 0, 1, and so on. */
async function sendHeartbeats(
  fleet: Fleet,
  rig: FleetWorker,
  ms: number,
  watts: readonly (number | null)[],
  jobId: JobId | null = null,
) {
  const gpu_figures = watts.map((power, index) => figures(index, power));
  await rig.beat(jobId, { gpu_figures });
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 30_000) {
    await fleet.clock.advance(30_000);
    await rig.beat(jobId, { gpu_figures });
  }
}

const today = (fleet: Fleet) => fleet.orchestrator.queue.usage(1).days[0];

describe('energy by day', () => {
  test('sums the energy of all GPUs, and multiplies the sum by the price of electricity', async () => {
    const fleet = await openFleet({ electricity });
    const rig = await fleet.addIdleWorker({ agent: { gpus: 2 } });
    await sendHeartbeats(fleet, rig, hourMs, [400, 600]);
    expect(today(fleet)).toMatchObject({ gpu_hours: 0, energy_kwh: 1, cost: 0.5 });
    expect(fleet.orchestrator.queue.usage(1).currency).toBe('EUR');
  });

  test('returns null for a day without a power figure, and no cost without a price', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await sendHeartbeats(fleet, rig, 60_000, [null]);
    expect(today(fleet)).toMatchObject({ energy_kwh: null, cost: null });
    await fleet.clock.advance(60_000);
    await sendHeartbeats(fleet, rig, hourMs, [1_000]);
    expect(today(fleet)).toMatchObject({ energy_kwh: 1, cost: null });
  });

  test('counts no energy for the time in which the worker was silent', async () => {
    const fleet = await openFleet({ electricity });
    const rig = await fleet.addIdleWorker();
    await sendHeartbeats(fleet, rig, hourMs, [1_000]);
    await fleet.clock.advance(3 * hourMs);
    await rig.connect();
    await sendHeartbeats(fleet, rig, hourMs, [1_000]);
    expect(today(fleet)?.energy_kwh).toBe(2);
  });

  test('keeps all energy after an orderly restart, and all but the last minutes after a crash', async () => {
    const fleet = await openFleet({ storeFile: join(openFolder(), 'fleet.db') });
    const rig = await fleet.addIdleWorker();
    await sendHeartbeats(fleet, rig, hourMs, [1_000]);
    await fleet.restart();
    expect(today(fleet)?.energy_kwh).toBe(1);
    await rig.connect();
    await sendHeartbeats(fleet, rig, hourMs, [1_000]);
    await fleet.restart({ crash: true });
    const energyKwh = today(fleet)?.energy_kwh ?? 0;
    expect(energyKwh).toBeGreaterThan(1.9);
    expect(energyKwh).toBeLessThanOrEqual(2);
  });

  test('keeps the energy in memory while the disk is full, and stores it afterwards', async () => {
    const fleet = await openFleet({ storeFile: join(openFolder(), 'fleet.db') });
    const rig = await fleet.addIdleWorker();
    await fleet.setDiskFull(true);
    await sendHeartbeats(fleet, rig, hourMs, [1_000]);
    expect(today(fleet)?.energy_kwh).toBe(1);
    await fleet.setDiskFull(false);
    await fleet.restart();
    expect(today(fleet)?.energy_kwh).toBe(1);
    fleet.errors.length = 0;
  });

  test('writes the energy at most once in five minutes', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await sendHeartbeats(fleet, rig, 60_000, [1_000]);
    const before = fleet.writes;
    await sendHeartbeats(fleet, rig, hourMs, [1_000]);
    expect(fleet.writes - before).toBeLessThanOrEqual(12);
  });

  test('divides the energy among days in UTC', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const untilMidnight = 24 * hourMs - (fleet.clock.wall() % (24 * hourMs));
    await fleet.clock.advance(untilMidnight - hourMs);
    await rig.connect();
    await sendHeartbeats(fleet, rig, 2 * hourMs, [1_000]);
    const [first, second] = fleet.orchestrator.queue.usage(2).days;
    expect(first?.energy_kwh).toBeCloseTo(1, 1);
    expect(second?.energy_kwh).toBeCloseTo(1, 1);
  });
});

describe('usage of a job', () => {
  test('counts the energy of all GPUs of the worker for a job without a GPU count', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { gpus: 2 } });
    const job = await fleet.runJob(rig);
    await sendHeartbeats(fleet, rig, hourMs, [500, 500], job);
    expect(fleet.job(job).usage?.energy_kwh).toBe(1);
  });

  test('returns null as usage before the job has started', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit();
    expect(fleet.job(jobId).usage).toBeNull();
  });

  test('counts only the energy of the GPUs of the job', async () => {
    const fleet = await openFleet({ electricity });
    const rig = await fleet.addIdleWorker({ agent: { gpus: 2 } });
    const job = await fleet.runJob(rig, { gpu_count: 1 });
    await sendHeartbeats(fleet, rig, hourMs, [500, 500], job);
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(fleet.job(job).usage).toEqual({ gpu_hours: 1, energy_kwh: 0.5, cost: 0.25, currency: 'EUR' });
    expect(today(fleet)).toMatchObject({ gpu_hours: 1, energy_kwh: 1, cost: 0.5 });
  });

  test('returns no energy and no cost when the worker reports no power', async () => {
    const fleet = await openFleet({ electricity });
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { gpu_count: 1 });
    await fleet.clock.advance(60_000);
    expect(fleet.job(job).usage).toMatchObject({ gpu_hours: 0.017, energy_kwh: null, cost: null });
  });

  test('sums the energy of all attempts, and deletes the energy together with the job', async () => {
    const fleet = await openFleet({ storeFile: join(openFolder(), 'fleet.db') });
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { gpu_count: 1, max_retries: 1, retry_on: ['trainer_exit'] });
    await sendHeartbeats(fleet, rig, hourMs, [1_000], job);
    await rig.report(job, 'failed', { exit_code: 1 });
    await fleet.clock.advance(10 * 60_000);
    await rig.connect();
    await rig.run(job);
    await sendHeartbeats(fleet, rig, hourMs, [1_000], job);
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(fleet.job(job).usage).toMatchObject({ gpu_hours: 2, energy_kwh: 2 });
    await fleet.restart();
    expect(fleet.job(job).usage).toMatchObject({ gpu_hours: 2, energy_kwh: 2 });
    expect(fleet.store.energyOfAttempts(job).size).toBe(2);
    await fleet.orchestrator.jobs.remove(job, { type: 'admin', id: 'ada', address: null });
    expect(fleet.store.energyOfAttempts(job).size).toBe(0);
  });
});

describe('cost of a pool', () => {
  test('charges the price of the machines from start to end, without their electricity', async () => {
    const pools = await openPool({ price_per_gpu_hour: 6 }, { electricity });
    pools.habits.jobMs = hourMs;
    const { jobId } = await pools.fleet.submit({ gpu_count: 1 });
    await pools.fleet.clock.advance(hourMs / 2);
    const [launch] = pools.launches();
    const hours = (launch?.gpu_seconds ?? 0) / 3_600;
    expect(hours).toBeGreaterThan(0.4);
    expect(today(pools.fleet)?.cost).toBeCloseTo(6 * hours, 1);
    const usage = pools.fleet.job(jobId).usage;
    expect(usage?.cost).toBeCloseTo(6 * (usage?.gpu_hours ?? 0), 2);
    expect(usage?.currency).toBe('EUR');
  });

  test('returns no cost for a pool without a price, even with a price of electricity', async () => {
    const pools = await openPool({}, { electricity });
    pools.habits.jobMs = hourMs;
    const { jobId } = await pools.fleet.submit({ gpu_count: 1 });
    await pools.fleet.clock.advance(hourMs / 2);
    expect(pools.fleet.job(jobId).usage).toMatchObject({ cost: null });
    expect(today(pools.fleet)?.cost).toBeNull();
  });
});
