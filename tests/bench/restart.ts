/**
 * Measures a restart. Kills the server while a thousand workers are busy, and starts it again with the same folder and port. The
 * busy workers reconnect like agents, with their running jobs and after the usual pauses. One idle worker reconnects immediately
 * and gets a job.
 */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { loopWaits, waits } from '../../agent/retry/decisions.ts';
import { createBackoff } from '../../agent/retry/retry.ts';
import type { RegisterReply } from '../../protocol/worker-api.ts';
import { type Line, percentile } from './figures.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';
import { adminHeadersOf, type BenchProgram, createBenchFolder, startServer } from './program.ts';
import { createRig, openStreams, type Rig } from './rigs.ts';
import { createWorkers, type Offer, register, report, submit } from './workers.ts';

const busyCount = 1_000;

/** Registers again, with the same backoff as `runSessions` and `createRegister` in the agent, and opens the stream. */
async function reconnect(rig: Rig, runningJob: Offer): Promise<RegisterReply> {
  const random = Math.random;
  const { retry } = waits.register;
  const backoff = createBackoff({ ...retry, random });
  await setTimeout(createBackoff({ ...loopWaits.session, random }).nextMs());
  for (;;) {
    try {
      const claim = { current_job_id: runningJob.job_id, current_attempt_id: runningJob.attempt_id };
      const reply = await register(rig.connection, rig.identity, claim);
      await rig.openStream();
      return reply;
    } catch {
      await setTimeout(retry.baseMs + backoff.nextMs());
    }
  }
}

/** Registers again without the pauses of an agent, and opens the stream. */
async function reconnectImmediately(rig: Rig): Promise<void> {
  for (;;) {
    try {
      await register(rig.connection, rig.identity);
      return await rig.openStream();
    } catch {
      await setTimeout(20);
    }
  }
}

const openSubmitter = (server: BenchProgram): HttpConnection =>
  openConnection(server.url, adminHeadersOf(server));

export async function measureRestart(): Promise<readonly Line[]> {
  const folder = createBenchFolder();
  const first = await startServer(folder, []);
  const runningJobs = new Map<Rig, Offer>();
  const claims: Promise<void>[] = [];
  const allBusy = Promise.withResolvers<void>();
  const claim = async (offer: Offer, rig: Rig): Promise<void> => {
    runningJobs.set(rig, offer);
    if (runningJobs.size === busyCount) allBusy.resolve();
    for (const status of ['starting', 'running']) await report(rig.connection, offer, status);
  };
  let onOffer = (offer: Offer, rig: Rig): void => void claims.push(claim(offer, rig));
  const rigs = (await createWorkers(first, busyCount + 1)).map(identity =>
    createRig(first, identity, { onOffer: (offer, rig) => onOffer(offer, rig) }),
  );
  await openStreams(rigs);
  const firstSubmitter = openSubmitter(first);
  for (let mark = 0; mark < busyCount; mark += 1) await submit(firstSubmitter, mark);
  await allBusy.promise;
  await Promise.all(claims);
  firstSubmitter.close();
  const idle = rigs.find(rig => !runningJobs.has(rig));
  if (idle === undefined) throw new Error('No worker is idle.');

  const dispatched = Promise.withResolvers<number>();
  onOffer = (_offer, rig) => rig === idle && dispatched.resolve(performance.now());
  await first.kill();
  const busyReconnects = [...runningJobs].map(async ([rig, offer]) => {
    const { resume_job: resumed } = await reconnect(rig, offer);
    return { at: performance.now(), isResumed: resumed?.attempt_id === offer.attempt_id };
  });
  const idleReconnect = reconnectImmediately(idle);
  const second = await startServer(folder, [], { port: Number(new URL(first.url).port) });
  const readyAt = performance.now();
  await idleReconnect;
  const secondSubmitter = openSubmitter(second);
  await submit(secondSubmitter, busyCount);
  const dispatchedMs = (await dispatched.promise) - readyAt;
  const returns = await Promise.all(busyReconnects);
  secondSubmitter.close();
  for (const rig of rigs) rig.close();
  await second.end();
  const { running, retried } = readOutcome(folder);
  await second.close();
  const resumed = returns.filter(({ isResumed }) => isResumed).length;
  return [
    { what: '1,000 running jobs, server killed: ready again', figure: second.readyMs, unit: 'ms' },
    { what: '  ready to first dispatch', figure: dispatchedMs, unit: 'ms', atMost: 1_000 },
    {
      what: '  ready to last worker reconnected',
      figure: percentile(
        returns.map(({ at }) => at - readyAt),
        1,
      ),
      unit: 'ms',
    },
    { what: '  resumed', figure: resumed, unit: '', atLeast: busyCount },
    { what: '  still running', figure: running, unit: '', atLeast: busyCount },
    { what: '  with a retry or a second attempt', figure: retried, unit: '', atMost: 0 },
  ];
}

/** Counts the running jobs in the database, and the jobs that have used a retry or a second attempt. */
function readOutcome(folder: string): { readonly running: number; readonly retried: number } {
  const db = new Database(join(folder, 'trainyard.db'), { readonly: true });
  const count = (where: string): number =>
    db.prepare<[], number>(`SELECT count(*) FROM jobs WHERE ${where}`).pluck().get() ?? Number.NaN;
  const outcome = {
    running: count("status = 'running'"),
    retried: count('retries_used > 0 OR attempt_n > 1'),
  };
  db.close();
  return outcome;
}
