/**
 * Measures the delay of events in panels: fifty panels follow all events while workers send two hundred progress reports
 * per second. The delay of an event is the time from the due time of its report until it arrives at a panel. The server's
 * memory grows until the first full garbage collection, which takes about a minute. `soak` measures the long run.
 */
import { setTimeout } from 'node:timers/promises';
import { fillLargeFleet, type RunningJob } from '../support/large-fleet.ts';
import { type Line, percentile } from './figures.ts';
import { follow, type Lane, openLane } from './lane.ts';
import { adminHeadersOf, type BenchProgram, benchFolder, buildServer, startServer } from './program.ts';

const panels = 50;
const changesPerSecond = 200;
/** Each job reports seldom enough that the server stores every report. */
const scale = { workers: 1_000, pending: 1_000, running: 500, ended: 8_000 };
const warmS = 5;
const measuredS = 20;
/** Each report has a unique step, its mark, which identifies its event. Marks are greater than the real step of any job. */
const firstMark = 1_000_000;

interface Traffic {
  /** Times from the due time until the arrival in ms, one per report and panel. */
  readonly times: number[];
  run(seconds: number): Promise<void>;
  close(): void;
}

async function openTraffic(server: BenchProgram, running: readonly RunningJob[]): Promise<Traffic> {
  const times: number[] = [];
  const dueAt = new Map<number, number>();
  const arrive = (json: string): void => {
    const [, mark] = /"step":(\d+)/.exec(json) ?? [];
    const due = dueAt.get(Number(mark));
    if (due !== undefined) times.push(performance.now() - due);
  };
  const streams = await Promise.all(
    Array.from({ length: panels }, () => follow(server.url, '/api/events', adminHeadersOf(server), arrive)),
  );
  const lanes = new Map<RunningJob, Lane>(
    running.map(job => [job, openLane(server.url, { 'x-worker-token': job.token })]),
  );
  let mark = firstMark;
  const change = async (due: number): Promise<void> => {
    const n = mark++;
    const job = running[n % running.length];
    if (job === undefined) throw new Error('No job is running.');
    dueAt.set(n, due);
    const body = JSON.stringify({ status: 'running', attempt_id: job.attemptId, progress: { step: n } });
    const answer = await lanes.get(job)?.call(`/api/workers/job/${job.jobId}/status`, body);
    if (answer?.status !== 200) throw new Error(`A report returned ${answer?.status}: ${answer?.text}`);
  };
  return {
    times,
    async run(seconds) {
      const begun = performance.now();
      const changes: Promise<void>[] = [];
      while (changes.length < seconds * changesPerSecond) {
        const due = begun + (changes.length / changesPerSecond) * 1_000;
        if (due > performance.now()) await setTimeout(1);
        else changes.push(change(due));
      }
      await Promise.all(changes);
      await setTimeout(500);
    },
    close() {
      for (const stream of streams) stream.close();
      for (const lane of lanes.values()) lane.close();
    },
  };
}

export async function measureReaders(): Promise<readonly Line[]> {
  const folder = benchFolder();
  const { running } = await fillLargeFleet(folder, scale);
  const server = await startServer(folder, undefined, { program: buildServer() });
  const traffic = await openTraffic(server, running);
  await traffic.run(warmS);
  traffic.times.length = 0;
  const startedAt = performance.now();
  const cpuAtStart = server.cpuSeconds();
  const mibAtStart = server.memoryMib();
  await traffic.run(measuredS);
  const share = (server.cpuSeconds() - cpuAtStart) / ((performance.now() - startedAt) / 1_000);
  const grownMib = server.memoryMib() - mibAtStart;
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
      figure: panels * measuredS * changesPerSecond - times.length,
      unit: '',
      atMost: 0,
    },
    { what: '  CPU of the server, share of one core', figure: 100 * share, unit: '%' },
    { what: `  growth of resident memory in ${measuredS} s`, figure: grownMib, unit: 'MiB' },
  ];
}
