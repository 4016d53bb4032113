import { z } from 'zod';
import { readStored } from '../support/database-evidence.ts';
import { textsBelow } from '../support/files-below.ts';
import { type Evidence, type Judgement, judge } from '../support/invariants.ts';
import { eventually } from '../support/notices.ts';
import { isAlive, processesOf } from '../support/own-processes.ts';
import type { Bench } from './bench.ts';
import { untilCalm } from './bench-server.ts';

const List = z.looseObject({
  entries: z.array(z.looseObject({ id: z.string(), status: z.string() })),
  as_of_seq: z.number(),
});

const finals = new Set(['completed', 'failed', 'cancelled']);

/**
 * Judges a scenario after its faults. Gives the fleet time to recover, disconnects all clients, stops the server in an
 * orderly way, and checks the invariants.
 */
export async function conclude(bench: Bench): Promise<Judgement> {
  const { server, events, trainers } = bench;
  const { statuses, lastSeq } = await untilAllEnded(bench);
  await eventually('the end of all trainers', () => livingTrainers(bench).length === 0, 10_000).catch(
    () => {},
  );
  const leftTrainers = livingTrainers(bench);
  bench.notes.noteArgv();
  const answers = await answersOf(bench);
  const oldTokens = await tryOldTokens(bench);
  const audit = await bench.admin.call('GET', '/api/audit/verify');
  await events
    .waitFor('the last events', () => (events.events.at(-1)?.seq ?? 0) >= lastSeq, 5_000)
    .catch(() => {});
  bench.disconnectAll();
  await Promise.all(bench.rigs.map(rig => rig.proxy.close()));
  events.close();
  const atEnd = await untilCalm(server);
  server.kill('SIGTERM');
  const exit = await server.ended();
  const evidence: Evidence = {
    accepted: bench.notes.accepted,
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
    mayOverlap: bench.notes.overlapping,
    texts: new Map([...textsBelow(bench.folder, tokenFilesOf(bench)), ...openTextsOf(bench), ...answers]),
    openTexts: new Map([...openTextsOf(bench), ...answers]),
    secrets: new Map([...bench.notes.secrets, ['the admin token', server.adminToken]]),
    canary: bench.notes.canary,
    baseline: server.baseline,
  };
  const orderly = exit.code === 0 ? [] : [`the server ended with ${JSON.stringify(exit)} after SIGTERM`];
  const { held, broken } = judge(evidence);
  return { held, broken: [...broken, ...orderly] };
}

/** Waits until all jobs have ended. Returns their statuses, also when the time is up. */
async function untilAllEnded(
  bench: Bench,
): Promise<{ readonly statuses: ReadonlyMap<string, string>; readonly lastSeq: number }> {
  let list = await listJobs(bench);
  const allEnded = (): boolean =>
    bench.notes.accepted.every(id => finals.has(list.statuses.get(id) ?? 'gone'));
  const deadline = performance.now() + 30_000;
  for (let seen = 0; !allEnded() && performance.now() < deadline; ) {
    // The list changes only after an event, so wait for one.
    await bench.events.waitFor('news', () => bench.events.events.length > seen, 5_000).catch(() => {});
    seen = bench.events.events.length;
    list = await listJobs(bench);
  }
  return list;
}

async function listJobs({
  admin,
}: Bench): Promise<{ readonly statuses: ReadonlyMap<string, string>; readonly lastSeq: number }> {
  const statuses = new Map<string, string>();
  for (let offset = 0; ; offset += 500) {
    const page = List.parse(await admin.must('GET', `/api/queue?limit=500&offset=${offset}`));
    for (const { id, status } of page.entries) statuses.set(id, status);
    if (page.entries.length < 500) return { statuses, lastSeq: page.as_of_seq };
  }
}

/** Returns live trainers and their descendants: all processes that have written to the trainers' record. */
const livingTrainers = ({ trainers, folder }: Bench): readonly number[] => {
  const pids = new Set(trainers.lines().map(({ pid }) => pid));
  const own = new Set(processesOf(folder));
  return [...pids].filter(pid => own.has(pid) && isAlive(pid));
};

/** Makes each call of a worker with each replaced token. */
async function tryOldTokens({ notes, server }: Bench): Promise<Evidence['oldTokens']> {
  const answers = notes.oldTokens.flatMap(({ workerId, token }) => {
    const calls: readonly (readonly [string, string, object | null])[] = [
      ['POST', '/api/workers/register', { name: 'thief' }],
      ['GET', `/api/workers/stream?worker_id=${workerId}`, null],
      ['POST', '/api/workers/heartbeat', { worker_id: workerId, status: 'idle' }],
      ['GET', `/api/workers/queue?worker_id=${workerId}`, null],
      ['POST', '/api/workers/job/j_none/status', { status: 'completed' }],
      ['POST', '/api/workers/disconnect', { worker_id: workerId }],
    ];
    return calls.map(async ([method, path, body]) => {
      const answer = await fetch(new URL(path, server.url), {
        method,
        signal: AbortSignal.timeout(5_000),
        headers: { 'x-worker-token': token, connection: 'close', 'content-type': 'application/json' },
        ...(body !== null && { body: JSON.stringify(body) }),
      });
      await answer.body?.cancel();
      return { call: `${method} ${path}`, status: answer.status };
    });
  });
  return Promise.all(answers);
}

/** Returns the files that may contain tokens. */
const tokenFilesOf = ({ rigs }: Bench): readonly string[] => [
  'admin-token',
  ...rigs.map(rig => `token-${rig.name}`),
];

/** Returns all texts that users or other programs can read: logs, events, arguments, answers to workers. */
function openTextsOf({ server, rigs, events, notes }: Bench): ReadonlyMap<string, string> {
  const answered = rigs.flatMap(rig => rig.proxy.log.map(({ answer }) => JSON.stringify(answer)));
  return new Map([
    ['the log of the server', server.lines().join('\n')],
    ...rigs.map(rig => [`the log of ${rig.name}`, rig.lines().join('\n')] as const),
    ['the events', events.events.map(event => JSON.stringify(event)).join('\n')],
    ['the answers to workers', answered.join('\n')],
    ...[...notes.argv].map(([pid, argv]) => [`the arguments of process ${pid}`, argv] as const),
  ]);
}

const lists = ['/api/queue?limit=500', '/api/admin/workers', '/api/audit?limit=500'];

async function answersOf({ admin }: Bench): Promise<ReadonlyMap<string, string>> {
  const answers = lists.map(
    async path =>
      [`the answer to GET ${path}`, JSON.stringify((await admin.call('GET', path)).body)] as const,
  );
  return new Map(await Promise.all(answers));
}
