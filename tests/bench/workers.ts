import type { RegisterReply } from '../../protocol/worker-api.ts';
import { adminHeadersOf, type BenchProgram } from './program.ts';
import {
  type EventStream,
  openEventStream,
  type Headers,
  type HttpConnection,
  openConnection,
} from './http-connection.ts';

/** A job offer in the form that workers receive. */
export interface Offer {
  readonly type: string;
  readonly job_id: string | number;
  readonly attempt_id?: string;
  readonly config: { readonly [key: string]: unknown };
}

/** The id and the credentials of a worker. The minimal program reads only the id. */
export interface Identity {
  readonly id: string;
  readonly headers: Headers;
}

/** Creates and registers workers, `concurrency` at a time. */
export async function createWorkers(
  server: Pick<BenchProgram, 'url' | 'folder'>,
  count: number,
  concurrency = 8,
): Promise<readonly Identity[]> {
  const identities: Identity[] = [];
  let nextIndex = 0;
  const createRemaining = async (): Promise<void> => {
    const connection = openConnection(server.url, adminHeadersOf(server));
    while (nextIndex < count) {
      const index = nextIndex;
      nextIndex += 1;
      identities[index] = await createWorker(server, connection, index);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: concurrency }, createRemaining));
  return identities;
}

async function createWorker(
  { url }: Pick<BenchProgram, 'url'>,
  admin: HttpConnection,
  index: number,
): Promise<Identity> {
  const response = await admin.call('/api/admin/workers', JSON.stringify({ name: `rig-${index}` }));
  const { worker_id: id, token } = JSON.parse(response.text) as {
    readonly worker_id: string;
    readonly token: string;
  };
  const identity = { id, headers: { 'x-worker-token': token } };
  const connection = openConnection(url, identity.headers);
  await register(connection, identity);
  connection.close();
  return identity;
}

/** Registers a worker. Throws when the orchestrator refuses. */
export async function register(
  connection: HttpConnection,
  { id }: Identity,
  fields: object = {},
): Promise<RegisterReply> {
  const body = {
    protocol: 2,
    name: id,
    persistent: true,
    gpu_count: 1,
    instance_id: id,
    start_id: `start of ${id}`,
  };
  const { status, text } = await connection.call(
    '/api/workers/register',
    JSON.stringify({ ...body, ...fields }),
  );
  if (status !== 200) throw new Error(`The registration of ${id} returned ${status}: ${text}`);
  return JSON.parse(text) as RegisterReply;
}

/** Returns the body of a heartbeat of an idle worker. */
export const heartbeatBody = ({ id }: Identity): string =>
  JSON.stringify({ worker_id: id, status: 'idle', current_job_id: null, gpu_utilization: 3 });

/** Opens the command stream of a worker, and calls `onOffer` for each job offer. */
export const followOffers = (
  { url }: Pick<BenchProgram, 'url'>,
  { id, headers }: Identity,
  onOffer: (offer: Offer) => void,
): Promise<EventStream> =>
  openEventStream(url, `/api/workers/stream?worker_id=${id}`, headers, json => {
    const order = JSON.parse(json) as Offer;
    if (order.type === 'job_submit') onOffer(order);
  });

/** Reports the status of a job. Throws when the orchestrator refuses. */
export async function report(
  connection: HttpConnection,
  { job_id: job, attempt_id }: Offer,
  status: string,
): Promise<void> {
  const body = JSON.stringify({ status, attempt_id });
  const response = await connection.call(`/api/workers/job/${job}/status`, body);
  if (response.status !== 200)
    throw new Error(`The report "${status}" of ${job} returned ${response.status}: ${response.text}`);
}

/** Submits a job. Throws when the orchestrator refuses it. */
export async function submit(connection: HttpConnection, mark: number): Promise<void> {
  const body = JSON.stringify({ config: configOf(mark), config_name: 'bench' });
  const { status, text } = await connection.call('/api/queue/submit', body);
  if (status !== 200) throw new Error(`The submit returned ${status}: ${text}`);
}

/** Returns a config of typical size. `mark` identifies the job. */
export const configOf = (mark: number): object => ({ ...typicalConfig, mark });

const typicalConfig = {
  model_family: 'sdxl',
  model_type: 'lora',
  pretrained_model_name_or_path: 'stabilityai/stable-diffusion-xl-base-1.0',
  output_dir: null,
  learning_rate: 1e-4,
  train_batch_size: 4,
  max_train_steps: 10_000,
  validation_prompt: 'a photograph of a red bicycle in front of a brick wall',
};
