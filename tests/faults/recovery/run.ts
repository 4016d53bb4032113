/**
 * `npm run faults -- --recovery`: compares the completed jobs in the ten seconds before a fault and after it is over. One
 * server and one fleet get all faults one after the other. Low figures do not fail the run. Only a lost job, or a job that ends
 * twice, fails the run.
 */
import { mkdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { createControlledFailpoint } from '../controlled-failpoint.ts';
import { createServerProcess, reservePort } from '../server-process.ts';
import { ownerVariable } from '../../support/own-processes.ts';
import { type Injection, injections, type Subject } from './injections.ts';
import { type Load, startLoad } from './load.ts';
import { computeRecovery, medianRecovery, reach, type Recovery, windowMs } from './windows.ts';

const warmUpMs = 5_000;

/** Runs all faults `times` times, and prints a table. Returns one line for each failure; empty when there is none. */
export async function measureRecovery(times: number, folder: string): Promise<readonly string[]> {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const server = createServerProcess({
    dataDir,
    port: await reservePort(),
    env: { [ownerVariable]: folder, XDG_CONFIG_HOME: folder },
  });
  const preload = new URL('../../support/failpoint-disk-and-clock.ts', import.meta.url);
  const failpoint = createControlledFailpoint({ folder }, preload);
  const loadBefore = loadavg()[0] ?? Number.NaN;
  await server.start({ failpoint: failpoint.failpoint });
  const load = await startLoad(server);
  const subject: Subject = { server, failpoint, load };
  await setTimeout(warmUpMs);
  const recoveries = new Map<Injection, Recovery[]>(injections.map(injection => [injection, []]));
  for (let round = 0; round < times; round += 1)
    for (const [injection, ofInjection] of recoveries) {
      const recovery = await measure(injection, subject);
      ofInjection.push(recovery);
      process.stderr.write(`${rowOf(injection, recovery)}\n`);
    }
  await load.drain();
  await load.close();
  server.kill('SIGTERM');
  await server.ended();
  const processor = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}`;
  process.stdout.write(
    [
      `${processor}, load before: ${loadBefore.toFixed(1)}, ${new Date().toISOString().slice(0, 10)}`,
      head,
      ...[...recoveries].map(([injection, all]) => rowOf(injection, medianRecovery(all))),
      `${load.accepted.size} jobs accepted`,
      '',
    ].join('\n'),
  );
  return findFailures(server.databaseFile, load);
}

async function measure(injection: Injection, subject: Subject): Promise<Recovery> {
  await setTimeout(windowMs);
  const from = performance.now();
  await injection.run(subject);
  const to = performance.now();
  await setTimeout(windowMs);
  return computeRecovery(subject.load.completions, { from, to });
}

const head = [
  'fault'.padEnd(34),
  'recovery point'.padEnd(20),
  'before'.padStart(8),
  'after'.padStart(8),
  'ratio'.padStart(7),
  '95 % again after'.padStart(18),
].join(' ');

function rowOf({ title, point }: Injection, { before, after, ratio, reachedAfterMs }: Recovery): string {
  const reached = reachedAfterMs === null ? 'not in 10 s' : `${(reachedAfterMs / 1_000).toFixed(1)} s`;
  return [
    title.padEnd(34),
    point.padEnd(20),
    `${before.toFixed(0)} /s`.padStart(8),
    `${after.toFixed(0)} /s`.padStart(8),
    `${(100 * ratio).toFixed(1)} %`.padStart(7),
    reached.padStart(18),
    ratio >= reach ? '' : 'MISSED',
  ].join(' ');
}

/** Returns a line for each accepted job that has not completed, and for each job that has several results. */
function findFailures(databaseFile: string, { accepted }: Load): readonly string[] {
  const db = new Database(databaseFile, { readonly: true });
  const statuses = new Map(db.prepare<[], [string, string]>('SELECT id, status FROM jobs').raw().all());
  const completedTwice = db
    .prepare<[], string>(
      "SELECT job_id FROM attempts WHERE outcome = 'completed' GROUP BY job_id HAVING count(*) > 1",
    )
    .pluck()
    .all();
  const endedTwice = db
    .prepare<[], string>(
      "SELECT target_id FROM audit WHERE type IN ('job.completed', 'job.failed', 'job.cancelled') " +
        'GROUP BY target_id HAVING count(*) > 1',
    )
    .pluck()
    .all();
  db.close();
  const lost = [...accepted].filter(job => statuses.get(job) !== 'completed');
  return [
    ...lost.map(job => `${job} was accepted, and is ${statuses.get(job) ?? 'missing'}`),
    ...completedTwice.map(job => `${job} has several attempts that completed`),
    ...endedTwice.map(job => `${job} ended several times`),
  ];
}
