import { z } from 'zod';
import { type AdminCalls, type Answer, createAdminCalls } from '../support/admin-calls.ts';
import type { ServerProcess } from '../faults/server-process.ts';
import { pauseFor } from './pause.ts';
import { type ClientLine, type Journal, machineNow } from './journal.ts';
import type { PlannedJob } from './plan.ts';

/** A client that makes API calls as users and scripts do. It records every response in its journal. */
export interface Client {
  readonly admin: AdminCalls;
  /**
   * Repeats the call until the response has the status 200. Returns the body; null after a status of 201 to 499, after 40 s, or
   * at the end of the run.
   */
  callUntilAccepted(method: string, path: string, body?: object): Promise<unknown>;
  /**
   * Submits the job, and repeats refused submissions. Repeats after a lost response only if the job has a key. Returns the job's
   * id, or null when no response confirmed the job.
   */
  submit(job: PlannedJob): Promise<string | null>;
  cancel(id: string): Promise<void>;
}

const Submitted = z.looseObject({ job_id: z.string() });
const giveUpAfterMs = 40_000;
const retryPauseMs = 250;

export function createClient(
  server: ServerProcess,
  journal: Journal<ClientLine>,
  ended: AbortSignal,
): Client {
  const admin = createAdminCalls(
    () => server.url,
    () => server.adminToken,
  );
  const attempt = async (method: string, path: string, body?: object): Promise<Answer | null> =>
    admin.call(method, path, body).catch(() => null);

  const callUntilAccepted: Client['callUntilAccepted'] = async (method, path, body) => {
    const deadline = machineNow() + giveUpAfterMs;
    while (machineNow() < deadline && !ended.aborted) {
      const response = await attempt(method, path, body);
      const status = response?.status ?? null;
      journal.write({ kind: 'call', at: machineNow(), call: `${method} ${path}`, status });
      if (status === 200) return response?.body;
      // The server would refuse a repetition too.
      if (status !== null && status < 500) return null;
      await pauseFor(retryPauseMs, ended);
    }
    return null;
  };
  const submit: Client['submit'] = async job => {
    const deadline = machineNow() + giveUpAfterMs;
    journal.write({ kind: 'submit', at: machineNow(), job });
    do {
      const response = await attempt('POST', '/api/queue/submit', bodyOf(job));
      const status = response?.status ?? null;
      const id = status === 200 ? Submitted.parse(response?.body).job_id : null;
      journal.write({ kind: 'answer', at: machineNow(), n: job.n, status, id });
      if (id !== null) return id;
      // Without a key, a repetition after a lost response could create a second job.
      if (status === null && !job.hasKey) return null;
      await pauseFor(retryPauseMs, ended);
    } while (machineNow() < deadline && !ended.aborted);
    return null;
  };
  return {
    admin,
    callUntilAccepted,
    submit,
    async cancel(id) {
      const response = await attempt('POST', `/api/queue/${id}/cancel`);
      journal.write({ kind: 'cancel', at: machineNow(), id, status: response?.status ?? null });
    },
  };
}

const bodyOf = (job: PlannedJob): object => ({
  config: {
    n: job.n,
    steps: job.steps,
    step_ms: job.stepMs,
    checkpoint_every: job.checkpointEvery,
    exit_code: job.exitCode,
  },
  max_retries: job.maxRetries,
  on_lost_contact: job.stopsOnLostContact ? 'stop' : 'continue',
  ...(job.hasKey && { idempotency_key: `chaos-${job.n}` }),
});
