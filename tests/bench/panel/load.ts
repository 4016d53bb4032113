import { Agent, request } from 'node:http';
import type { RunningJob } from '../../support/large-fleet.ts';
import type { LargeServer } from './server.ts';

/** Calls per second, including probes. Probes change a row that the measurement observes. */
const reportsPerSecond = 200;
const probesPerSecond = 10;

/** The times when each probe was sent and answered, in ms of the wall clock, by mark: the number that the probe makes visible. */
export type Probes = ReadonlyMap<string, { readonly sentAt: number; readonly answeredAt: number }>;

export interface Load {
  /** Stops the load, and waits for the responses to the calls in progress. */
  stop(): Promise<{ readonly probes: Probes; readonly calls: number; readonly failed: number }>;
}

const wallNow = (): number => performance.timeOrigin + performance.now();

/**
 * Starts a load of progress reports, for the running jobs in turn. Each report makes the server send an event. Ten times a
 * second, calls `probe` with a new mark instead. `probe` resolves with true when the server accepts its call.
 */
export function startLoad(server: LargeServer, probe: (mark: number) => Promise<boolean>): Load {
  const probes = new Map<string, { sentAt: number; answeredAt: number }>();
  const inProgress = new Set<Promise<void>>();
  const startedAt = performance.now();
  let calls = 0;
  let failed = 0;
  const call = async (n: number): Promise<void> => {
    const sentAt = wallNow();
    const isProbe = n % (reportsPerSecond / probesPerSecond) === 0;
    const job = server.running[n % server.running.length];
    if (job === undefined) throw new Error('No job is running.');
    const isAccepted = isProbe ? await probe(firstMark + n) : await report(server, job, firstMark + n);
    if (!isAccepted) failed += 1;
    else if (isProbe) probes.set(String(firstMark + n), { sentAt, answeredAt: wallNow() });
  };
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * reportsPerSecond);
    while (calls < due) {
      const pending = call(calls).catch(() => {
        failed += 1;
      });
      calls += 1;
      inProgress.add(pending);
      void pending.then(() => inProgress.delete(pending));
    }
  }, 5);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(inProgress);
      return { probes, calls, failed };
    },
  };
}

/** Marks are larger than any step of a job. */
const firstMark = 1_000_000;

/** Reports progress as the job's worker. Returns true when the server accepts the report. */
export async function report({ url }: LargeServer, job: RunningJob, step: number): Promise<boolean> {
  const path = `/api/workers/job/${job.jobId}/status`;
  const body = { status: 'running', attempt_id: job.attemptId, progress: { step } };
  const { status } = await send(url, 'POST', path, { 'x-worker-token': job.token }, body);
  return status === 200;
}

/** Makes a call with the admin token, and returns the JSON of its response. Throws when the status is not 200. */
export async function callAsAdmin(
  server: LargeServer,
  method: string,
  path: string,
  body: unknown,
): Promise<unknown> {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const { status, text } = await send(server.url, method, path, headers, body);
  if (status !== 200) throw new Error(`${method} ${path} returned ${status}: ${text}`);
  return JSON.parse(text);
}

/** Reuses a few connections, because opening hundreds of them would distort the measurement. */
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

const send = (
  url: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const options = { method, agent, headers: { ...headers, 'content-type': 'application/json' } };
    const outgoing = request(new URL(path, url), options, response => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(body));
  });
