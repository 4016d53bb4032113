import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { completeAtOnce, createLightWorker, type LightWorker } from '../support/light-worker.ts';
import { eventually } from '../support/notices.ts';
import { memoryOf } from '../support/own-processes.ts';
import type { Bench, BenchJob } from './bench.ts';
import type { Scenario } from './scenario.ts';
import { eventsOf } from './steps.ts';

const mib = 1_048_576;
const readerCount = 50;
/** Limit in MiB of the data that the orchestrator buffers for one reader, and an allowance for its other memory. */
const unreadMib = 1;
const allowanceMib = 200;
/** Sockets of calls, and of the stream of the test itself, that may be open during a measurement. */
const comingAndGoing = 3;

/**
 * Opens the event stream and reads only its first byte. Only the orchestrator shows that it has disconnected the
 * reader.
 */
async function openStalledReader({ server, onDisconnect: onLeave }: Bench): Promise<void> {
  const request = http.get(new URL('/api/events', server.url), {
    agent: false,
    headers: { authorization: `Bearer ${server.adminToken}`, 'last-event-id': '0' },
  });
  onLeave(() => request.destroy());
  await new Promise<void>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', answer => {
      answer.pause();
      request.on('error', () => {});
      resolve();
    });
  });
}

/** Labels that make a worker's data as large as possible. */
const manyLabels = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`label-${n}`, 'x'.repeat(60)]));

async function lightWorker(bench: Bench, agent: http.Agent, name: string): Promise<LightWorker> {
  const { id, token } = await bench.admin.createWorker(name);
  const worker = createLightWorker({ url: bench.server.url, id, token, agent, onCommand: completeAtOnce });
  bench.onDisconnect(() => worker.cut());
  return worker;
}

function connections(bench: Bench, maxSockets: number): http.Agent {
  const agent = new http.Agent({ keepAlive: true, maxSockets });
  bench.onDisconnect(() => agent.destroy());
  return agent;
}

/** Returns the number of sockets that the orchestrator has open. */
const socketsOf = ({ server }: Bench): number =>
  server.resources().descriptors.filter(name => name.startsWith('socket:')).length;

const slowReaders: Scenario = {
  id: 'F24',
  title: `disconnects ${readerCount} stalled event readers and a stalled worker, bounds memory, and serves the others`,
  quick: false,
  limitMs: 180_000,
  async run(bench) {
    await bench.server.start();
    const agent = connections(bench, 4);
    const deaf = await lightWorker(bench, agent, 'deaf');
    await deaf.register();
    await deaf.openStream({ stopsReading: true });
    const good = await lightWorker(bench, agent, 'good');
    await good.register({ labels: { ...manyLabels, rig: 'good' } });
    await good.openStream();
    await bench.events.worker(good.id, 'worker.connected');
    const sendLongEvents = (): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 10 }, () => good.register({ labels: { ...manyLabels, rig: 'good' } })),
      );
    await sendLongEvents();
    const before = { sockets: socketsOf(bench), memory: memoryOf(bench.server.pid) };
    await Promise.all(Array.from({ length: readerCount }, () => openStalledReader(bench)));
    const left = (): number => socketsOf(bench) - before.sockets - comingAndGoing;
    assert.ok(left() >= readerCount - 2 * comingAndGoing, 'the readers are not connected');
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, memoryOf(bench.server.pid));
    }, 100);
    bench.onDisconnect(() => clearInterval(timer));
    // Each event contains the worker's labels, so it is long. Continue until all deaf readers are disconnected.
    for (let round = 0; round < 200 && left() > 0; round += 1) {
      await sendLongEvents();
      const job = await bench.submit({}, { worker_labels: { rig: 'good' } });
      await bench.events.job(job.id, 'job.completed', Math.max(0, bench.events.events.length - 50));
      await deaf.beat();
    }
    clearInterval(timer);
    assert.ok(left() <= 0, `${left()} stalled readers are still connected`);
    const grownMib = (most - before.memory) / mib;
    assert.ok(grownMib < readerCount * unreadMib + allowanceMib, `memory grew by ${grownMib} MiB`);
    assert.deepEqual(eventsOf(bench, ['worker.offline', 'job.requeued']), []);
  },
};

const crowdSize = 1_000;
const busyCount = 20;
/**
 * Heartbeat timeout in seconds. With the shorter one of other scenarios, a thousand workers would send a thousand
 * heartbeats per second.
 */
const crowdTimeoutS = 24;

interface Member {
  readonly worker: LightWorker;
  /** The worker's current job; null when it has none. */
  held: { readonly job: string; readonly attempt: string } | null;
}

/** Sends heartbeats, and reconnects when the stream is lost, until the signal aborts. */
async function keepConnected(member: Member, signal: AbortSignal): Promise<void> {
  const { worker } = member;
  const own = (): object => ({
    current_job_id: member.held?.job ?? null,
    [worker.isOpen ? 'attempt_id' : 'current_attempt_id']: member.held?.attempt ?? null,
  });
  let beatAt = performance.now() + Math.random() * crowdTimeoutS * 250;
  while (!signal.aborted) {
    await pause(50 + Math.random() * 100, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    if (!worker.isOpen) await comeBack(worker, own(), signal).catch(() => {});
    else if (performance.now() > beatAt) {
      beatAt = performance.now() + crowdTimeoutS * 250;
      await worker.beat({ status: member.held === null ? 'idle' : 'busy', ...own() }).catch(() => {});
    }
  }
}

/** Reconnects after a random pause, as agents do. */
async function comeBack(worker: LightWorker, own: object, signal: AbortSignal): Promise<void> {
  await pause(Math.random() * 1_000, undefined, { signal });
  await worker.register(own);
  await worker.openStream();
}

async function joinCrowd(bench: Bench, agent: http.Agent, n: number): Promise<Member> {
  const { id, token } = await bench.admin.createWorker(`light-${n}`);
  const member: Member = {
    held: null,
    worker: createLightWorker({
      url: bench.server.url,
      id,
      token,
      agent,
      onCommand({ type, job_id: job = '', attempt_id: attempt = '' }, worker) {
        if (type !== 'job_submit' || member.held !== null) return;
        member.held = { job, attempt };
        void worker
          .report(job, attempt, 'starting')
          .then(() => worker.report(job, attempt, 'running'))
          .catch(() => {});
      },
    }),
  };
  bench.onDisconnect(() => member.worker.cut());
  await member.worker.register();
  await member.worker.openStream();
  return member;
}

const massCut: Scenario = {
  id: 'F25',
  title: `reconnects ${crowdSize} workers after all their streams break, ${busyCount} with a job, and marks none offline`,
  quick: false,
  limitMs: 180_000,
  async run(bench) {
    const { server, events } = bench;
    await server.start({ args: ['--heartbeat-timeout', String(crowdTimeoutS)] });
    const agent = connections(bench, 16);
    const ended = new AbortController();
    bench.onDisconnect(() => ended.abort());
    const members: Member[] = [];
    const lives: Promise<void>[] = [];
    const numbers = Array.from({ length: crowdSize }, (_, n) => n);
    const fill = async (): Promise<void> => {
      for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
        const member = await joinCrowd(bench, agent, n);
        members.push(member);
        lives.push(keepConnected(member, ended.signal));
      }
    };
    await Promise.all(Array.from({ length: 8 }, fill));
    const jobs: BenchJob[] = [];
    while (jobs.length < busyCount) jobs.push(await bench.submit());
    for (const { id } of jobs) await events.job(id, 'job.running');
    const from = events.events.length;
    for (const { worker } of members) worker.cut();
    const back = (): number =>
      new Set(
        events.events
          .slice(from)
          .filter(({ type }) => type === 'worker.connected')
          .map(({ worker_id: id }) => id),
      ).size;
    await events.waitFor('everybody', () => back() >= members.length, 60_000);
    await eventually('all streams', () => members.every(({ worker }) => worker.isOpen));
    for (const { worker, held } of members.filter(({ held: job }) => job !== null)) {
      if (held !== null) await worker.report(held.job, held.attempt, 'completed', { exit_code: 0 });
    }
    for (const { id } of jobs) {
      await events.job(id, 'job.completed');
      assert.equal((await bench.admin.job(id)).attempts.length, 1, `attempts of ${id}`);
    }
    assert.deepEqual(eventsOf(bench, ['worker.offline', 'job.recovering', 'job.requeued']), []);
    ended.abort();
    await Promise.all(lives);
  },
};

export const crowds: readonly Scenario[] = [slowReaders, massCut];
