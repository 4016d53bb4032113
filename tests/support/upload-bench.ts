import { createHash } from 'node:crypto';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { WorkerCommand } from '../../protocol/worker-api.ts';
import type { TestServer } from './server.ts';

export interface JobOffer {
  readonly jobId: JobId;
  readonly attemptId: string;
  readonly token: string;
  readonly resume: Extract<WorkerCommand, { type: 'job_submit' }>['resume'];
  readonly data: Extract<WorkerCommand, { type: 'job_submit' }>['data'];
  readonly inputs: Extract<WorkerCommand, { type: 'job_submit' }>['inputs'];
}

/** A simulated worker without a trainer. The test decides when the worker accepts offers and sends reports. */
export interface Rig {
  readonly id: WorkerId;
  readonly token: string;
  /** Resolves with the next offered job. */
  nextOffer(): Promise<JobOffer>;
  /** Sends a report about an offered job. */
  report(offer: Pick<JobOffer, 'jobId' | 'attemptId'>, status: string, more?: object): Promise<Response>;
  /** Registers without a current job, as a restarted agent that has lost its running job does. */
  register(): Promise<void>;
  openStream(): Promise<void>;
  beat(more?: object): Promise<void>;
}

type Reachable = Pick<TestServer, 'url' | 'createWorker'>;

/** Creates and registers a worker, and opens its stream. `facts`: additional registration fields. */
export async function openRig(server: Reachable, name = 'rig-1', facts: object = {}): Promise<Rig> {
  const { id, token } = await server.createWorker({ name });
  const offers: JobOffer[] = [];
  const waiting: ((offer: JobOffer) => void)[] = [];
  const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
  const post = (path: string, body: object): Promise<Response> =>
    fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const handleLine = (line: string): void => {
    if (!line.startsWith('data: ')) return;
    const command = WorkerCommand.parse(JSON.parse(line.slice(6)));
    if (command.type !== 'job_submit') return;
    const offer = {
      jobId: command.job_id,
      attemptId: command.attempt_id,
      token: command.upload_token ?? '',
      resume: command.resume,
      data: command.data,
      inputs: command.inputs,
    };
    const next = waiting.shift();
    if (next === undefined) offers.push(offer);
    else next(offer);
  };
  const rig: Rig = {
    id,
    token,
    nextOffer() {
      const waitingOffer = offers.shift();
      return waitingOffer === undefined
        ? new Promise(resolve => waiting.push(resolve))
        : Promise.resolve(waitingOffer);
    },
    report: ({ jobId, attemptId }, status, more = {}) =>
      post(`/api/workers/job/${jobId}/status`, { status, attempt_id: attemptId, ...more }),
    async register() {
      const body = {
        name,
        protocol: 2,
        instance_id: `i-${name}`,
        persistent: true,
        gpu_count: 1,
        ...facts,
      };
      const answer = await post('/api/workers/register', body);
      if (answer.status !== 200) throw new Error(`not registered: ${await answer.text()}`);
    },
    async beat(more = {}) {
      const answer = await post('/api/workers/heartbeat', { worker_id: id, status: 'idle', ...more });
      if (answer.status !== 200) throw new Error(`no heartbeat: ${await answer.text()}`);
    },
    async openStream() {
      const stream = await fetch(`${server.url}/api/workers/stream?worker_id=${id}`, { headers });
      const read = async (): Promise<void> => {
        let rest = '';
        for await (const part of stream.body ?? []) {
          const lines = (rest + Buffer.from(part).toString()).split('\n');
          rest = lines.pop() ?? '';
          lines.forEach(handleLine);
        }
      };
      read().catch(() => undefined);
    },
  };
  await rig.register();
  await rig.openStream();
  return rig;
}

/** Submits a job, takes the next offer of the rig, and reports the job as running. */
export async function startJob(
  server: Pick<TestServer, 'submit'>,
  rig: Rig,
  body: Partial<Parameters<TestServer['submit']>[0]> = {},
): Promise<JobOffer> {
  await server.submit({ config: {}, ...body });
  const offer = await rig.nextOffer();
  for (const status of ['starting', 'running']) await rig.report(offer, status);
  return offer;
}

export interface UploadRequest {
  readonly bucket?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

/** Uploads a file with the upload token of an attempt. */
export const upload = (
  url: string,
  token: string,
  key: string,
  { bucket = 'outputs', body, headers = {}, method = 'PUT' }: UploadRequest = {},
): Promise<Response> =>
  fetch(`${url}/api/cloud/storage/${bucket}/${key}`, {
    method,
    redirect: 'manual',
    headers: { 'x-upload-token': token, ...headers },
    ...(body !== undefined && { body }),
  });

export const sha256 = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');
