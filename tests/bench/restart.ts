/**
 * Measures a restart. It kills the server while a thousand workers are busy, and starts it again with the same folder
 * and address. The workers reconnect like agents, with their running jobs and after the usual pauses. One idle worker
 * reconnects at once and gets a job.
 */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { createBackoff } from '../../agent/retry/retry.ts';
import type { RegisterReply } from '../../protocol/worker-api.ts';
import { type Line, percentile } from './figures.ts';
import { type Lane, openLane } from './lane.ts';
import { adminHeadersOf, type BenchProgram, benchFolder, startServer } from './program.ts';
import { createRig, openStreams, type Rig } from './rigs.ts';
import { enrol, type Offer, register, report, submit } from './workers.ts';

const busy = 1_000;

/** Registers again with the same backoff as `runSessions` and `createRegister` of the agent. */
async function reconnect(rig: Rig, held: Offer): Promise<RegisterReply> {
  const random = Math.random;
  const soon = createBackoff({ firstMs: 1_000, maxMs: 30_000, random });
  await setTimeout(createBackoff({ firstMs: 1_000, maxMs: 30_000, random }).nextMs());
  for (;;) {
    try {
      const claim = { current_job_id: held.job_id, current_attempt_id: held.attempt_id };
      const reply = await register(rig.lane, rig.identity, claim);
      await rig.openStream();
      return reply;
    } catch {
      await setTimeout(200 + soon.nextMs());
    }
  }
}

async function reconnectAtOnce(rig: Rig): Promise<void> {
  for (;;) {
    try {
      await register(rig.lane, rig.identity);
      return await rig.openStream();
    } catch {
      await setTimeout(20);
    }
  }
}

const submitterOf = (server: BenchProgram): Lane => openLane(server.url, adminHeadersOf(server));

export async function measureRestart(): Promise<readonly Line[]> {
  const folder = benchFolder();
  const first = await startServer(folder, []);
  const held = new Map<Rig, Offer>();
  const claims: Promise<void>[] = [];
  const allHold = Promise.withResolvers<void>();
  const claim = async (offer: Offer, rig: Rig): Promise<void> => {
    held.set(rig, offer);
    if (held.size === busy) allHold.resolve();
    for (const status of ['starting', 'running']) await report(rig.lane, offer, status);
  };
  let onOffer = (offer: Offer, rig: Rig): void => void claims.push(claim(offer, rig));
  const rigs = (await enrol(first, busy + 1)).map(identity =>
    createRig(first, identity, { onOffer: (offer, rig) => onOffer(offer, rig) }),
  );
  await openStreams(rigs);
  const before = submitterOf(first);
  for (let mark = 0; mark < busy; mark += 1) await submit(before, mark);
  await allHold.promise;
  await Promise.all(claims);
  before.close();
  const idle = rigs.find(rig => !held.has(rig));
  if (idle === undefined) throw new Error('No worker is idle.');

  const dispatched = Promise.withResolvers<number>();
  onOffer = (_offer, rig) => rig === idle && dispatched.resolve(performance.now());
  await first.kill();
  const back = [...held].map(async ([rig, offer]) => {
    const { resume_job: resumed } = await reconnect(rig, offer);
    return { at: performance.now(), isResumed: resumed?.attempt_id === offer.attempt_id };
  });
  const again = reconnectAtOnce(idle);
  const second = await startServer(folder, [], { port: Number(new URL(first.url).port) });
  const listening = performance.now();
  await again;
  const after = submitterOf(second);
  await submit(after, busy);
  const dispatchedMs = (await dispatched.promise) - listening;
  const returns = await Promise.all(back);
  after.close();
  for (const rig of rigs) rig.close();
  await second.end();
  const { running, retried } = outcomeIn(folder);
  await second.close();
  const resumed = returns.filter(({ isResumed }) => isResumed).length;
  return [
    { what: '1,000 running jobs, server killed: ready again', figure: second.readyMs, unit: 'ms' },
    { what: '  ready to first dispatch', figure: dispatchedMs, unit: 'ms', atMost: 1_000 },
    {
      what: '  ready to last worker reconnected',
      figure: percentile(
        returns.map(({ at }) => at - listening),
        1,
      ),
      unit: 'ms',
    },
    { what: '  resumed', figure: resumed, unit: '', atLeast: busy },
    { what: '  still running', figure: running, unit: '', atLeast: busy },
    { what: '  with a retry or a second attempt', figure: retried, unit: '', atMost: 0 },
  ];
}

/** Counts the running jobs in the database, and those that have used a retry or a second attempt. */
function outcomeIn(folder: string): { readonly running: number; readonly retried: number } {
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
