import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { completeAtOnce, createLightWorker, type LightWorker } from '../support/light-worker.ts';
import { eventually } from '../support/notices.ts';
import { memoryOf } from '../support/own-processes.ts';
import type { FaultFleet, FleetJob } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';
import { eventsOf } from './steps.ts';

const mib = 1_048_576;
const readerCount = 50;
/** Limit of the data that the orchestrator buffers for one reader. */
const bufferMib = 1;
/** Maximum growth of the orchestrator's other memory. */
const allowanceMib = 200;
/** Maximum number of sockets of API calls and of the test's own event stream during a measurement. */
const otherSockets = 3;

/**
 * Opens the event stream and reads nothing. Such a client does not notice that the server disconnects it, so the test counts the
 * sockets of the orchestrator.
 */
async function openStalledReader({ server, onDisconnect }: FaultFleet): Promise<void> {
  const request = http.get(new URL('/api/events', server.url), {
    agent: false,
    headers: { authorization: `Bearer ${server.adminToken}`, 'last-event-id': '0' },
  });
  onDisconnect(() => request.destroy());
  await new Promise<void>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', response => {
      response.pause();
      request.on('error', () => {});
      resolve();
    });
  });
}

/** Labels that make a worker's data as large as possible. */
const manyLabels = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`label-${n}`, 'x'.repeat(60)]));

async function connectWorker(fleet: FaultFleet, agent: http.Agent, name: string): Promise<LightWorker> {
  const { id, token } = await fleet.admin.createWorker(name);
  const worker = createLightWorker({ url: fleet.server.url, id, token, agent, onCommand: completeAtOnce });
  fleet.onDisconnect(() => worker.cut());
  return worker;
}

function createAgent(fleet: FaultFleet, maxSockets: number): http.Agent {
  const agent = new http.Agent({ keepAlive: true, maxSockets });
  fleet.onDisconnect(() => agent.destroy());
  return agent;
}

/** Returns the number of sockets that the orchestrator has open. */
const socketsOf = ({ server }: FaultFleet): number =>
  server.resources().descriptors.filter(name => name.startsWith('socket:')).length;

const slowReaders: Scenario = {
  id: 'F24',
  title: `disconnects ${readerCount} stalled event readers, bounds memory, and completes the jobs of an active worker`,
  quick: false,
  limitMs: 180_000,
  async run(fleet) {
    await fleet.server.start();
    const agent = createAgent(fleet, 4);
    const stalled = await connectWorker(fleet, agent, 'stalled');
    await stalled.register();
    await stalled.openStream({ stopsReading: true });
    const active = await connectWorker(fleet, agent, 'active');
    await active.register({ labels: { ...manyLabels, rig: 'active' } });
    await active.openStream();
    await fleet.events.worker(active.id, 'worker.connected');
    const sendLongEvents = (): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 10 }, () => active.register({ labels: { ...manyLabels, rig: 'active' } })),
      );
    await sendLongEvents();
    const before = { sockets: socketsOf(fleet), memory: memoryOf(fleet.server.pid) };
    await Promise.all(Array.from({ length: readerCount }, () => openStalledReader(fleet)));
    const connectedReaders = (): number => socketsOf(fleet) - before.sockets - otherSockets;
    assert.ok(connectedReaders() >= readerCount - 2 * otherSockets, 'the readers are not connected');
    let maxMemory = 0;
    const timer = setInterval(() => {
      maxMemory = Math.max(maxMemory, memoryOf(fleet.server.pid));
    }, 100);
    fleet.onDisconnect(() => clearInterval(timer));
    // Each event contains the worker's many labels, so it fills the buffers soon. Continue until no stalled reader is connected.
    for (let round = 0; round < 200 && connectedReaders() > 0; round += 1) {
      await sendLongEvents();
      const job = await fleet.submit({}, { worker_labels: { rig: 'active' } });
      await fleet.events.job(job.id, 'job.completed', Math.max(0, fleet.events.events.length - 50));
      await stalled.beat();
    }
    clearInterval(timer);
    assert.ok(connectedReaders() <= 0, `${connectedReaders()} stalled readers are still connected`);
    const growthMib = (maxMemory - before.memory) / mib;
    assert.ok(growthMib < readerCount * bufferMib + allowanceMib, `memory grew by ${growthMib} MiB`);
    assert.deepEqual(eventsOf(fleet, ['worker.offline', 'job.requeued']), []);
  },
};

const workerCount = 1_000;
const jobCount = 20;
/** With the 4 s of other scenarios, a thousand workers would send a thousand heartbeats per second. */
const longTimeoutS = 24;
/** Workers send a heartbeat four times per timeout. */
const heartbeatMs = (longTimeoutS * 1_000) / 4;

interface Member {
  readonly worker: LightWorker;
  /** The worker's current job; null when idle. */
  job: { readonly id: string; readonly attempt: string } | null;
}

/** Sends heartbeats, and reconnects a lost stream, until the signal aborts. */
async function keepConnected(member: Member, signal: AbortSignal): Promise<void> {
  const { worker } = member;
  let nextHeartbeat = performance.now() + Math.random() * heartbeatMs;
  while (!signal.aborted) {
    await pause(50 + Math.random() * 100, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const { id = null, attempt = null } = member.job ?? {};
    if (!worker.isOpen) {
      const fields = { current_job_id: id, current_attempt_id: attempt };
      await reconnect(worker, fields, signal).catch(() => {});
    } else if (performance.now() > nextHeartbeat) {
      nextHeartbeat = performance.now() + heartbeatMs;
      const status = member.job === null ? 'idle' : 'busy';
      await worker.beat({ status, current_job_id: id, attempt_id: attempt }).catch(() => {});
    }
  }
}

/** Reconnects after a random pause, as agents do. `fields`: additional fields of the registration. */
async function reconnect(worker: LightWorker, fields: object, signal: AbortSignal): Promise<void> {
  await pause(Math.random() * 1_000, undefined, { signal });
  await worker.register(fields);
  await worker.openStream();
}

/** Connects a worker that reports its first job as running, and never completes the job by itself. */
async function connectMember(fleet: FaultFleet, agent: http.Agent, number: number): Promise<Member> {
  const { id, token } = await fleet.admin.createWorker(`light-${number}`);
  const member: Member = {
    job: null,
    worker: createLightWorker({
      url: fleet.server.url,
      id,
      token,
      agent,
      onCommand({ type, job_id: job = '', attempt_id: attempt = '' }, worker) {
        if (type !== 'job_submit' || member.job !== null) return;
        member.job = { id: job, attempt };
        void worker
          .report(job, attempt, 'starting')
          .then(() => worker.report(job, attempt, 'running'))
          .catch(() => {});
      },
    }),
  };
  fleet.onDisconnect(() => member.worker.cut());
  await member.worker.register();
  await member.worker.openStream();
  return member;
}

const massCut: Scenario = {
  id: 'F25',
  title: `reconnects ${workerCount} workers, ${jobCount} of them busy, after all streams break, and marks none offline`,
  quick: false,
  limitMs: 180_000,
  async run(fleet) {
    const { server, events } = fleet;
    await server.start({ args: ['--heartbeat-timeout', String(longTimeoutS)] });
    const agent = createAgent(fleet, 16);
    const ended = new AbortController();
    fleet.onDisconnect(() => ended.abort());
    const members: Member[] = [];
    const connections: Promise<void>[] = [];
    const numbers = Array.from({ length: workerCount }, (_, number) => number);
    const connectMembers = async (): Promise<void> => {
      for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
        const member = await connectMember(fleet, agent, number);
        members.push(member);
        connections.push(keepConnected(member, ended.signal));
      }
    };
    // Connect eight workers at a time.
    await Promise.all(Array.from({ length: 8 }, connectMembers));
    const jobs: FleetJob[] = [];
    while (jobs.length < jobCount) jobs.push(await fleet.submit());
    for (const { id } of jobs) await events.job(id, 'job.running');
    const from = events.events.length;
    for (const { worker } of members) worker.cut();
    const countReconnected = (): number => {
      const connected = events.events.slice(from).filter(({ type }) => type === 'worker.connected');
      return new Set(connected.map(event => event.worker_id)).size;
    };
    await events.waitFor('the reconnect of all workers', () => countReconnected() >= members.length, 60_000);
    await eventually('the streams of all workers', () => members.every(({ worker }) => worker.isOpen));
    for (const { worker, job } of members)
      if (job !== null) await worker.report(job.id, job.attempt, 'completed', { exit_code: 0 });
    for (const { id } of jobs) {
      await events.job(id, 'job.completed');
      assert.equal((await fleet.admin.job(id)).attempts.length, 1, `attempts of ${id}`);
    }
    assert.deepEqual(eventsOf(fleet, ['worker.offline', 'job.recovering', 'job.requeued']), []);
    ended.abort();
    await Promise.all(connections);
  },
};

export const manyClients: readonly Scenario[] = [slowReaders, massCut];
