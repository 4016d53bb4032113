import { z } from 'zod';
import { readStored } from '../support/database-evidence.ts';
import { textsBelow } from '../support/files-below.ts';
import { type Evidence, type Judgement, judge } from '../support/invariants.ts';
import { eventually } from '../support/notices.ts';
import { isAlive, processesOf } from '../support/own-processes.ts';
import type { FaultFleet } from './fault-fleet.ts';
import { waitForClosedConnections } from './server-process.ts';

const List = z.looseObject({
  entries: z.array(z.looseObject({ id: z.string(), status: z.string() })),
  as_of_seq: z.number(),
});

const finalStatuses = new Set(['completed', 'failed', 'cancelled']);

/**
 * Checks the invariants after the faults of a scenario. Before that, gives the fleet time to recover, disconnects all clients and
 * stops the server in an orderly way.
 */
export async function conclude(fleet: FaultFleet): Promise<Judgement> {
  const { server, events, trainers } = fleet;
  const { statuses, lastSeq } = await waitUntilAllEnded(fleet);
  // On a timeout, continue: an invariant reports trainers that still run.
  await eventually('the end of all trainers', () => livingTrainers(fleet).length === 0, 10_000).catch(
    () => {},
  );
  const leftTrainers = livingTrainers(fleet);
  fleet.records.recordArguments();
  const responses = await readLists(fleet);
  const oldTokens = await tryOldTokens(fleet);
  const audit = await fleet.admin.call('GET', '/api/audit/verify');
  await events
    .waitFor('the last events', () => (events.events.at(-1)?.seq ?? 0) >= lastSeq, 5_000)
    .catch(() => {});
  fleet.disconnectAll();
  await Promise.all(fleet.rigs.map(rig => rig.proxy.close()));
  events.close();
  const atEnd = await waitForClosedConnections(server);
  server.kill('SIGTERM');
  const exit = await server.ended();
  const evidence: Evidence = {
    accepted: fleet.records.accepted,
    statuses,
    lastSeq,
    leftTrainers,
    oldTokens,
    audit,
    atEnd,
    events: events.events,
    streamFaults: events.faults,
    connections: events.connections,
    stored: readStored(server.databaseFile),
    runs: trainers.runs(),
    mayOverlap: fleet.records.overlapping,
    texts: new Map([...textsBelow(fleet.folder, tokenFilesOf(fleet)), ...openTextsOf(fleet), ...responses]),
    openTexts: new Map([...openTextsOf(fleet), ...responses]),
    secrets: new Map([...fleet.records.secrets, ['the admin token', server.adminToken]]),
    canary: fleet.records.canary,
    baseline: server.baseline,
  };
  const badExit = exit.code === 0 ? [] : [`the server ended with ${JSON.stringify(exit)} after SIGTERM`];
  const { held, broken } = judge(evidence);
  return { held, broken: [...broken, ...badExit] };
}

/** Waits until all jobs have ended, for at most 30 s after the call. Returns their statuses in any case. */
async function waitUntilAllEnded(
  fleet: FaultFleet,
): Promise<{ readonly statuses: ReadonlyMap<string, string>; readonly lastSeq: number }> {
  let list = await listJobs(fleet);
  const haveAllEnded = (): boolean =>
    fleet.records.accepted.every(id => finalStatuses.has(list.statuses.get(id) ?? 'missing'));
  const deadline = performance.now() + 30_000;
  let eventCount = 0;
  while (!haveAllEnded() && performance.now() < deadline) {
    // The list changes only after an event, so wait for one.
    await fleet.events
      .waitFor('an event', () => fleet.events.events.length > eventCount, 5_000)
      .catch(() => {});
    eventCount = fleet.events.events.length;
    list = await listJobs(fleet);
  }
  return list;
}

async function listJobs({
  admin,
}: FaultFleet): Promise<{ readonly statuses: ReadonlyMap<string, string>; readonly lastSeq: number }> {
  const statuses = new Map<string, string>();
  for (let offset = 0; ; offset += 500) {
    const page = List.parse(await admin.must('GET', `/api/queue?limit=500&offset=${offset}`));
    for (const { id, status } of page.entries) statuses.set(id, status);
    if (page.entries.length < 500) return { statuses, lastSeq: page.as_of_seq };
  }
}

/** Returns the pids of live trainers and their descendants, which are all processes that wrote to the trainers' record. */
const livingTrainers = ({ trainers, folder }: FaultFleet): readonly number[] => {
  const trainerPids = new Set(trainers.lines().map(({ pid }) => pid));
  // The system may have reused the pid of an ended trainer for a process outside of the fleet.
  const fleetPids = new Set(processesOf(folder));
  return [...trainerPids].filter(pid => fleetPids.has(pid) && isAlive(pid));
};

/** Makes each API call of workers with each replaced token. Returns the statuses of the responses. */
async function tryOldTokens({ records, server }: FaultFleet): Promise<Evidence['oldTokens']> {
  const attempts = records.oldTokens.flatMap(({ workerId, token }) => {
    const calls: readonly (readonly [string, string, object | null])[] = [
      ['POST', '/api/workers/register', { name: 'thief' }],
      ['GET', `/api/workers/stream?worker_id=${workerId}`, null],
      ['POST', '/api/workers/heartbeat', { worker_id: workerId, status: 'idle' }],
      ['GET', `/api/workers/queue?worker_id=${workerId}`, null],
      ['POST', '/api/workers/job/j_none/status', { status: 'completed' }],
      ['POST', '/api/workers/disconnect', { worker_id: workerId }],
    ];
    return calls.map(async ([method, path, body]) => {
      const response = await fetch(new URL(path, server.url), {
        method,
        signal: AbortSignal.timeout(5_000),
        headers: { 'x-worker-token': token, connection: 'close', 'content-type': 'application/json' },
        ...(body !== null && { body: JSON.stringify(body) }),
      });
      await response.body?.cancel();
      return { call: `${method} ${path}`, status: response.status };
    });
  });
  return Promise.all(attempts);
}

/** Returns the files that may contain tokens. */
const tokenFilesOf = ({ rigs }: FaultFleet): readonly string[] => [
  'admin-token',
  ...rigs.map(rig => `token-${rig.name}`),
];

/** Returns all texts that users or other programs can read (logs, events, arguments, responses to workers), by description. */
function openTextsOf({ server, rigs, events, records }: FaultFleet): ReadonlyMap<string, string> {
  const responses = rigs.flatMap(rig => rig.proxy.log.map(({ answer }) => JSON.stringify(answer)));
  return new Map([
    ['the log of the server', server.lines().join('\n')],
    ...rigs.map(rig => [`the log of ${rig.name}`, rig.lines().join('\n')] as const),
    ['the events', events.events.map(event => JSON.stringify(event)).join('\n')],
    ['the responses to workers', responses.join('\n')],
    ...[...records.argv].map(([pid, argv]) => [`the arguments of process ${pid}`, argv] as const),
  ]);
}

const listPaths = ['/api/queue?limit=500', '/api/admin/workers', '/api/audit?limit=500'];

/** Returns the API's lists of jobs, workers and audit rows as JSON, by description. */
async function readLists({ admin }: FaultFleet): Promise<ReadonlyMap<string, string>> {
  const responses = new Map<string, string>();
  for (const path of listPaths) {
    const { body } = await admin.call('GET', path);
    responses.set(`the response to GET ${path}`, JSON.stringify(body));
  }
  return responses;
}
