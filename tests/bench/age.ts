/**
 * Measures an orchestrator with a long history: jobs and audit rows of 30 days, and 2,000 logs. The targets apply to `--jobs
 * 1000000`; the default is 50,000 jobs. `--folder DIR` fills that folder once, and keeps it for later runs. The server has one
 * thread, so each call also delays all other calls.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { JobSort } from '../../protocol/job-search.ts';
import { fillLargeFleet } from '../support/large-fleet.ts';
import { type Line, median, percentile } from './figures.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';
import {
  adminHeadersOf,
  type BenchProgram,
  createBenchFolder,
  buildServer,
  startProgram,
  startServer,
} from './program.ts';

export const jobsByDefault = 50_000;
const historyMs = 30 * 86_400_000;
/** Number of times that the benchmark loads the first page of jobs. */
const firstPages = 40;
/** Targets in ms. */
const [firstPageMs, listMs, delayMs] = [50, 100, 50];

const filters = [
  'state:failed',
  'state:cancelled',
  'user:ci',
  'worker:rig-00*',
  'tag:base',
  'tag:none',
  'group:night-7',
  'sdxl',
  'sdxl user:ci',
  'a',
  '"nothing like it"',
];

/** Returns the duration of a GET call in ms. */
async function timeCall(connection: HttpConnection, path: string): Promise<number> {
  const startedAt = performance.now();
  const { status, text } = await connection.call(path, null);
  if (status !== 200) throw new Error(`${path} returned ${status}: ${text}`);
  return performance.now() - startedAt;
}

/** Makes a GET call this number of times. Returns the median duration in ms. */
async function medianOf(connection: HttpConnection, path: string, calls: number): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < calls; call += 1) times.push(await timeCall(connection, path));
  return median(times);
}

const listPath = (query: string): string => `/api/queue?include_completed=true&limit=50&${query}`;

/** Requests each list `rounds` times. Returns one line per group of lists: the median of the slowest list. */
async function measureLists(
  connection: HttpConnection,
  rounds: number,
  jobs: number,
): Promise<readonly Line[]> {
  const orders = JobSort.options.flatMap(sort => [`sort=${sort}&order=asc`, `sort=${sort}&order=desc`]);
  const half = Math.floor(jobs / 2);
  const groups = [
    ['slowest filter', filters.map(text => `q=${encodeURIComponent(text)}`)],
    ['slowest order', orders],
    ['slowest page in the middle', JobSort.options.map(sort => `sort=${sort}&offset=${half}`)],
    ['slowest exact count', ['counts=true', 'counts=true&q=sdxl']],
  ] as const;
  const lines: Line[] = [];
  for (const [what, queries] of groups) {
    const times: { readonly query: string; readonly ms: number }[] = [];
    for (const query of queries)
      times.push({ query, ms: await medianOf(connection, listPath(query), rounds) });
    const [slowest] = times.toSorted((a, b) => b.ms - a.ms);
    lines.push({ what: `${what} (${slowest?.query})`, figure: slowest?.ms ?? 0, unit: 'ms', atMost: listMs });
  }
  return lines;
}

/** Returns the longest time in ms of a small call while `act` runs on another connection. */
async function longestDelay(
  server: BenchProgram,
  act: (connection: HttpConnection) => Promise<unknown>,
): Promise<number> {
  const [busy, probe] = [openConnection(server.url, adminHeadersOf(server)), openConnection(server.url, {})];
  let isOver = false;
  const action = act(busy).finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  while (!isOver) times.push(await timeCall(probe, '/health/live'));
  await action;
  busy.close();
  probe.close();
  return Math.max(...times);
}

export async function measureAge(
  rounds: number,
  jobs = jobsByDefault,
  keptFolder?: string,
): Promise<readonly Line[]> {
  const program = buildServer();
  const folder = keptFolder ?? createBenchFolder();
  const [pending, running] = [Math.min(10_000, jobs / 10), 500];
  const scale = { workers: 1_000, pending, running, ended: jobs - pending - running };
  if (!existsSync(join(folder, 'trainyard.db')))
    await fillLargeFleet(folder, { ...scale, everyMs: Math.floor(historyMs / jobs), isAged: true });
  // Start and stop once before measuring. The first start checks the whole file, because the filled database does not
  // record an orderly stop.
  await (await startServer(folder, [], { program })).end();
  const starts: number[] = [];
  const minimal: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const ours = await startServer(folder, [], { program });
    await ours.end();
    starts.push(ours.readyMs);
    const minimalProgram = await startProgram(['tests/bench/bare.ts', join(folder, 'trainyard.db')], folder);
    await minimalProgram.end();
    minimal.push(minimalProgram.readyMs);
  }
  const server = await startServer(folder, [], { program });
  const connection = openConnection(server.url, adminHeadersOf(server));
  const pages: number[] = [];
  for (let call = 0; call < firstPages; call += 1) pages.push(await timeCall(connection, listPath('')));
  const lists = await measureLists(connection, rounds, jobs);
  const backupMs = await longestDelay(server, busy => busy.call('/api/backup', '{}'));
  const auditMs = await longestDelay(server, busy => busy.call('/api/audit/verify', null));
  const memory = server.memoryMib();
  connection.close();
  await server.end();
  if (keptFolder === undefined) rmSync(folder, { recursive: true });
  return [
    { what: `start to ready, ${jobs} jobs`, figure: median(starts), unit: 'ms' },
    { what: '  minimal Express program with the same database', figure: median(minimal), unit: 'ms' },
    { what: '  ratio', figure: median(starts) / median(minimal), unit: 'x', atMost: 2 },
    { what: 'first page of jobs: p95', figure: percentile(pages, 0.95), unit: 'ms', atMost: firstPageMs },
    ...lists,
    { what: 'longest delay during a backup', figure: backupMs, unit: 'ms', atMost: delayMs },
    { what: 'longest delay during a check of the audit trail', figure: auditMs, unit: 'ms', atMost: delayMs },
    { what: 'memory', figure: memory, unit: 'MiB' },
  ];
}
