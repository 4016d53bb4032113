/** Jobs at a constant load, on workers that run the real agent with a simulated trainer. */
import { setTimeout } from 'node:timers/promises';
import { createSimulatedWorker, type SimulatedWorker } from '../../../agent/simulated/simulated-worker.ts';
import { openNetwork, usualTrust } from '../../../agent/connection/network.ts';
import type { Fetch } from '../../../protocol/client.ts';
import { createAdminCalls } from '../../support/admin-calls.ts';
import { eventually } from '../../support/notices.ts';
import type { ServerProcess } from '../server-process.ts';

/**
 * The number of workers limits the throughput, not the processor. The figures are therefore comparable even when other programs
 * use the machine.
 */
const workerCount = 16;
const jobMs = 1_000;
/** One running and one pending job per worker. */
const maxInProgress = 2 * workerCount;
const submitterCount = 4;
const submitRetryMs = 100;
const drainMs = 30_000;
const connectMs = 60_000;
/** HTTP status of `storage` (protocol/problem.ts). */
const diskFullStatus = 507;

export interface LoadWorker extends Pick<SimulatedWorker, 'vanish' | 'comeBack'> {
  /** Resets the command stream, but no other call. */
  cutStream(): void;
  isConnected(): boolean;
}

export interface Load {
  readonly workers: readonly LoadWorker[];
  /** Times at which the server accepted that a job completed (`performance.now()`). */
  readonly completions: readonly number[];
  /** The ids of all jobs that the server accepted. */
  readonly accepted: ReadonlySet<string>;
  /** Number of calls that the server refused because its disk is full: submissions, and calls of workers except the stream. */
  refusedForSpace(): number;
  /** Resolves when all workers have their command streams. */
  waitForWorkers(): Promise<void>;
  /** Stops submitting. Resolves when all accepted jobs have completed, or after 30 s. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

export async function startLoad(server: ServerProcess): Promise<Load> {
  const admin = createAdminCalls(
    () => server.url,
    () => server.adminToken,
  );
  const completions: number[] = [];
  const completedJobs = new Set<string>();
  let refusedForSpace = 0;
  const recordStatus = (status: number | undefined): void => {
    if (status === diskFullStatus) refusedForSpace += 1;
  };
  const recordCompletion = (job: string): void => {
    completions.push(performance.now());
    completedJobs.add(job);
  };
  const running: Promise<number>[] = [];
  const workers: (LoadWorker & Pick<SimulatedWorker, 'leaveNow'>)[] = [];
  for (let index = 0; index < workerCount; index += 1) {
    const name = `rig-${index}`;
    const { token } = await admin.createWorker(name);
    const { run, ...worker } = createWorker({ url: server.url, token, name, recordCompletion, recordStatus });
    workers.push(worker);
    running.push(run());
  }
  const waitForWorkers = async (): Promise<void> => {
    const areConnected = (): boolean => workers.every(worker => worker.isConnected());
    await eventually('the streams of all workers', areConnected, connectMs);
  };
  await waitForWorkers();
  const submissions = startSubmissions(server, () => completedJobs.size, recordStatus);
  return {
    workers,
    completions,
    accepted: submissions.accepted,
    refusedForSpace: () => refusedForSpace,
    waitForWorkers,
    async drain() {
      await submissions.stop();
      const areEnded = (): boolean => [...submissions.accepted].every(job => completedJobs.has(job));
      // On a timeout, continue: the check of the database reports the missing jobs.
      await eventually('the end of all jobs', areEnded, drainMs).catch(() => {});
    },
    async close() {
      await submissions.stop();
      for (const worker of workers) worker.leaveNow();
      await Promise.all(running);
    },
  };
}

interface WorkerOptions {
  readonly url: string;
  readonly token: string;
  readonly name: string;
  readonly recordCompletion: (job: string) => void;
  /** Called with the HTTP status of each response. */
  readonly recordStatus: (status: number | undefined) => void;
}

function createWorker({
  url,
  token,
  name,
  recordCompletion,
  recordStatus,
}: WorkerOptions): LoadWorker & SimulatedWorker {
  let isConnected = false;
  let stream = new AbortController();
  const send = openNetwork(usualTrust);
  const fetch: Fetch = async (target, init) => {
    const [, job] = /\/api\/workers\/job\/([^/]+)\/status$/.exec(target.pathname) ?? [];
    if (target.pathname.endsWith('/api/workers/stream')) {
      stream = new AbortController();
      const signals = init.signal === undefined ? [stream.signal] : [stream.signal, init.signal];
      return send(target, { ...init, signal: AbortSignal.any(signals) });
    }
    const answer = await send(target, init);
    recordStatus(answer.status);
    if (job !== undefined && answer.status === 200 && /"status":"completed"/.test(init.body ?? ''))
      recordCompletion(job);
    return answer;
  };
  const worker = createSimulatedWorker({
    url,
    token,
    name,
    fetch,
    persistent: true,
    accelerator: 'cuda',
    gpus: [{ index: 0, name: 'NVIDIA GeForce RTX 4090', vramGb: 24 }],
    trainer: () => ({ exited: setTimeout(jobMs, { code: 0, signal: null, tail: '' }), stop() {} }),
    telemetry: () => ({ gpu_utilization: 40, vram_used_gb: 12 }),
    random: Math.random,
    onConnection: isOpen => {
      isConnected = isOpen;
    },
    log: () => {},
  });
  return { ...worker, isConnected: () => isConnected, cutStream: () => stream.abort() };
}

interface Submissions {
  readonly accepted: ReadonlySet<string>;
  stop(): Promise<void>;
}

/**
 * Submits a job whenever fewer than `maxInProgress` are in progress. Repeats each failed call until the server accepts the job.
 */
function startSubmissions(
  server: ServerProcess,
  completed: () => number,
  recordStatus: (status: number | undefined) => void,
): Submissions {
  const accepted = new Set<string>();
  let isStopped = false;
  let submitted = 0;
  const submit = async (mark: number): Promise<void> => {
    while (!isStopped) {
      const response = await fetch(new URL('/api/queue/submit', server.url), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.adminToken}`,
          'content-type': 'application/json',
          // After a lost response, the repeated call must not create a second job.
          'idempotency-key': `recovery-${mark}`,
        },
        body: JSON.stringify({ config: { mark }, config_name: 'recovery', target: 'worker' }),
      }).catch(() => null);
      if (response?.status === 200) {
        accepted.add(((await response.json()) as { readonly job_id: string }).job_id);
        return;
      }
      recordStatus(response?.status);
      await response?.body?.cancel();
      await setTimeout(submitRetryMs);
    }
  };
  const submitAll = async (): Promise<void> => {
    while (!isStopped) {
      if (submitted - completed() < maxInProgress) {
        submitted += 1;
        await submit(submitted);
      } else await setTimeout(5);
    }
  };
  const submitters = Array.from({ length: submitterCount }, submitAll);
  return {
    accepted,
    async stop() {
      isStopped = true;
      await Promise.all(submitters);
    },
  };
}
