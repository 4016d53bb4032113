import type { RunningJob } from '../../support/large-fleet.ts';
import type { LargeServer } from './server.ts';

/** How often in a second workers report, and how often one of these reports is about something that is looked at. */
const reportsASecond = 200;
const probesASecond = 10;

/** When a call went out and when it was answered, by the mark that it left; wall time in milliseconds. */
export type Probes = ReadonlyMap<string, { readonly sentAt: number; readonly answeredAt: number }>;

export interface Load {
  /** Ends it; the calls that are on their way are waited for. */
  stop(): Promise<{ readonly probes: Probes; readonly calls: number; readonly failed: number }>;
}

const wallNow = (): number => performance.timeOrigin + performance.now();

/**
 * Workers that report the progress of their jobs, one after the other; with each the server tells an event. Ten times a
 * second `probe` makes the call instead, for a mark that is used once, and answers whether it was taken.
 */
export function startLoad(server: LargeServer, probe: (mark: number) => Promise<boolean>): Load {
  const probes = new Map<string, { sentAt: number; answeredAt: number }>();
  const underWay = new Set<Promise<void>>();
  const begun = performance.now();
  let calls = 0;
  let failed = 0;
  const call = async (n: number): Promise<void> => {
    const sentAt = wallNow();
    const isProbe = n % (reportsASecond / probesASecond) === 0;
    const job = server.running[n % server.running.length];
    if (job === undefined) throw new Error('no job runs');
    const isTaken = isProbe ? await probe(firstMark + n) : await report(server, job, firstMark + n);
    if (!isTaken) failed += 1;
    else if (isProbe) probes.set(String(firstMark + n), { sentAt, answeredAt: wallNow() });
  };
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - begun) / 1_000) * reportsASecond);
    while (calls < due) {
      const made = call(calls++).catch(() => void (failed += 1));
      underWay.add(made);
      void made.then(() => underWay.delete(made));
    }
  }, 5);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return { probes, calls, failed };
    },
  };
}

/** Above all steps that the jobs have. */
const firstMark = 1_000_000;

/** As the job's worker reports it. */
export async function report({ url }: LargeServer, job: RunningJob, step: number): Promise<boolean> {
  const answer = await fetch(`${url}/api/workers/job/${job.jobId}/status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-worker-token': job.token },
    body: JSON.stringify({ status: 'running', attempt_id: job.attemptId, progress: { step } }),
  });
  await answer.text();
  return answer.ok;
}

/** As a person with the admin token makes it. */
export async function ask(
  server: LargeServer,
  method: string,
  path: string,
  body: unknown,
): Promise<unknown> {
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}` },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}
