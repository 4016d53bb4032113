/**
 * Measures the delay of events in panels: fifty panels follow all events while workers send two hundred progress reports per
 * second. The delay is the time from the due time of a report until its event arrives at a panel. The server's memory grows until
 * the first full garbage collection, after about a minute. The benchmark `soak` measures the memory over a long time.
 */
import { setTimeout } from 'node:timers/promises';
import { fillLargeFleet, type RunningJob } from '../support/large-fleet.ts';
import { type Line, percentile } from './figures.ts';
import { openEventStream, type HttpConnection, openConnection } from './http-connection.ts';
import { adminHeadersOf, type BenchProgram, createBenchFolder, buildServer, startServer } from './program.ts';

const panelCount = 50;
const reportsPerSecond = 200;
/** With 500 running jobs, each job reports so rarely that the server stores every report. */
const scale = { workers: 1_000, pending: 1_000, running: 500, ended: 8_000 };
/** Duration of the warm-up in seconds. Its reports do not count. */
const warmUpS = 5;
const measureS = 20;
/** Each report has a unique step as its mark, which identifies its event. Marks are larger than any real step of a job. */
const firstMark = 1_000_000;

interface Traffic {
  /** Delays from the due time to the arrival in ms, one per report and panel. */
  readonly times: number[];
  run(seconds: number): Promise<void>;
  close(): void;
}

async function openTraffic(server: BenchProgram, running: readonly RunningJob[]): Promise<Traffic> {
  const times: number[] = [];
  const dueAt = new Map<number, number>();
  const recordArrival = (json: string): void => {
    const [, mark] = /"step":(\d+)/.exec(json) ?? [];
    const due = dueAt.get(Number(mark));
    if (due !== undefined) times.push(performance.now() - due);
  };
  const streams = await Promise.all(
    Array.from({ length: panelCount }, () =>
      openEventStream(server.url, '/api/events', adminHeadersOf(server), recordArrival),
    ),
  );
  const connections = new Map<RunningJob, HttpConnection>(
    running.map(job => [job, openConnection(server.url, { 'x-worker-token': job.token })]),
  );
  let nextMark = firstMark;
  const report = async (due: number): Promise<void> => {
    const mark = nextMark;
    nextMark += 1;
    const job = running[mark % running.length];
    if (job === undefined) throw new Error('No job is running.');
    dueAt.set(mark, due);
    const body = JSON.stringify({ status: 'running', attempt_id: job.attemptId, progress: { step: mark } });
    const response = await connections.get(job)?.call(`/api/workers/job/${job.jobId}/status`, body);
    if (response?.status !== 200) throw new Error(`A report returned ${response?.status}: ${response?.text}`);
  };
  return {
    times,
    async run(seconds) {
      const startedAt = performance.now();
      const reports: Promise<void>[] = [];
      while (reports.length < seconds * reportsPerSecond) {
        const due = startedAt + (reports.length / reportsPerSecond) * 1_000;
        if (due > performance.now()) await setTimeout(1);
        else reports.push(report(due));
      }
      await Promise.all(reports);
      // Wait for the last events, which arrive slightly later than the responses.
      await setTimeout(500);
    },
    close() {
      for (const stream of streams) stream.close();
      for (const connection of connections.values()) connection.close();
    },
  };
}

export async function measureReaders(): Promise<readonly Line[]> {
  const folder = createBenchFolder();
  const { running } = await fillLargeFleet(folder, scale);
  const server = await startServer(folder, undefined, { program: buildServer() });
  const traffic = await openTraffic(server, running);
  await traffic.run(warmUpS);
  traffic.times.length = 0;
  const startedAt = performance.now();
  const cpuAtStart = server.cpuSeconds();
  const mibAtStart = server.memoryMib();
  await traffic.run(measureS);
  const share = (server.cpuSeconds() - cpuAtStart) / ((performance.now() - startedAt) / 1_000);
  const growthMib = server.memoryMib() - mibAtStart;
  traffic.close();
  await server.close();
  const { times } = traffic;
  return [
    { what: '50 panels, 200 changes/s, change to panel: p50', figure: percentile(times, 0.5), unit: 'ms' },
    {
      what: '50 panels, 200 changes/s, change to panel: p99',
      figure: percentile(times, 0.99),
      unit: 'ms',
      atMost: 100,
    },
    {
      what: '  missing events',
      figure: panelCount * measureS * reportsPerSecond - times.length,
      unit: '',
      atMost: 0,
    },
    { what: '  CPU of the server, share of one core', figure: 100 * share, unit: '%' },
    { what: `  growth of resident memory in ${measureS} s`, figure: growthMib, unit: 'MiB' },
  ];
}
