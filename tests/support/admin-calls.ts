import { z } from 'zod';
import { parseJson } from './chaos-proxy-exchange.ts';

/** A response with any status. `body`: the parsed JSON; null when it is not JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

const Attempt = z.looseObject({
  attempt: z.number(),
  attempt_id: z.string(),
  worker_id: z.string(),
  outcome: z.string().nullable(),
  cause: z.string().nullable(),
  exit_code: z.number().nullable(),
  signal: z.string().nullable(),
});

/** The fields of a job that fault tests check. Contract tests cover the other fields. */
export const Job = z.looseObject({
  id: z.string(),
  status: z.string(),
  attempt: z.number(),
  worker_id: z.string().nullable(),
  cause: z.string().nullable(),
  error_message: z.string().nullable(),
  attempts: z.array(Attempt),
});
export type Job = z.output<typeof Job>;

const Worker = z.looseObject({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  status_reason: z.string().nullable(),
  current_job_id: z.string().nullable(),
});
export type Worker = z.output<typeof Worker>;

const CreateWorkerResponse = z.object({ worker_id: z.string(), token: z.string() });
const SubmitResponse = z.looseObject({ job_id: z.string() });

/** An API client for fault tests. It parses responses loosely, because these tests do not check the contract. */
export interface AdminCalls {
  /** Makes a call and returns the response with any status. Throws only when there is no response. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  createWorker(name: string, more?: object): Promise<{ readonly id: string; readonly token: string }>;
  submit(body: object): Promise<string>;
  job(id: string): Promise<Job>;
  worker(id: string): Promise<Worker>;
  /** Makes a call, and returns the body of the response. Throws on any status except 200. */
  must(method: string, path: string, body?: unknown): Promise<unknown>;
}

const timeoutMs = 10_000;

export function createAdminCalls(url: () => string, token: () => string): AdminCalls {
  const call: AdminCalls['call'] = async (method, path, body) => {
    const response = await fetch(new URL(path, url()), {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${token()}`,
        // Close each connection, because tests count the server's file descriptors.
        connection: 'close',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: parseJson(await response.text()), headers: response.headers };
  };
  const must: AdminCalls['must'] = async (method, path, body) => {
    const response = await call(method, path, body);
    if (response.status === 200) return response.body;
    throw new Error(`${method} ${path} returned ${response.status}: ${JSON.stringify(response.body)}`);
  };
  return {
    call,
    must,
    async createWorker(name, more = {}) {
      const worker = CreateWorkerResponse.parse(await must('POST', '/api/admin/workers', { name, ...more }));
      return { id: worker.worker_id, token: worker.token };
    },
    submit: async body => SubmitResponse.parse(await must('POST', '/api/queue/submit', body)).job_id,
    job: async id => Job.parse(await must('GET', `/api/queue/${id}`)),
    worker: async id => Worker.parse(await must('GET', `/api/admin/workers/${id}`)),
  };
}
