import type { RegisterReply } from '../../protocol/worker-api.ts';
import { adminHeadersOf, type BenchProgram } from './program.ts';
import { type Followed, follow, type Headers, type Lane, openLane } from './lane.ts';

/** A job offer, as the worker receives it. */
export interface Offer {
  readonly type: string;
  readonly job_id: string | number;
  readonly attempt_id?: string;
  readonly config: { readonly [key: string]: unknown };
}

/** The credentials of a worker. The minimal program reads only the name. */
export interface Identity {
  readonly id: string;
  readonly headers: Headers;
}

/** Creates the workers at the orchestrator, and registers them. */
export async function enrol(server: BenchProgram, count: number, atOnce = 8): Promise<readonly Identity[]> {
  const all: Identity[] = [];
  let next = 0;
  const enrolOn = async (): Promise<void> => {
    const lane = openLane(server.url, adminHeadersOf(server));
    while (next < count) {
      const n = next++;
      all[n] = await enrolOne(server, lane, n);
    }
    lane.close();
  };
  await Promise.all(Array.from({ length: atOnce }, enrolOn));
  return all;
}

async function enrolOne({ url }: BenchProgram, admin: Lane, n: number): Promise<Identity> {
  const made = await admin.call('/api/admin/workers', JSON.stringify({ name: `rig-${n}` }));
  const { worker_id: id, token } = JSON.parse(made.text) as {
    readonly worker_id: string;
    readonly token: string;
  };
  const identity = { id, headers: { 'x-worker-token': token } };
  const lane = openLane(url, identity.headers);
  await register(lane, identity);
  lane.close();
  return identity;
}

/** Registers a worker. Throws when the orchestrator refuses. */
export async function register(lane: Lane, { id }: Identity, more: object = {}): Promise<RegisterReply> {
  const body = {
    protocol: 2,
    name: id,
    persistent: true,
    gpu_count: 1,
    instance_id: id,
    start_id: `start of ${id}`,
  };
  const { status, text } = await lane.call('/api/workers/register', JSON.stringify({ ...body, ...more }));
  if (status !== 200) throw new Error(`The registration of ${id} returned ${status}: ${text}`);
  return JSON.parse(text) as RegisterReply;
}

/** Returns the body of a heartbeat of an idle worker. */
export const heartbeatBody = ({ id }: Identity): string =>
  JSON.stringify({ worker_id: id, status: 'idle', current_job_id: null, gpu_utilization: 3 });

/** Follows the stream of orders for a worker. */
export const followOrders = (
  { url }: Pick<BenchProgram, 'url'>,
  { id, headers }: Identity,
  onOffer: (offer: Offer) => void,
): Promise<Followed> =>
  follow(url, `/api/workers/stream?worker_id=${id}`, headers, json => {
    const order = JSON.parse(json) as Offer;
    if (order.type === 'job_submit') onOffer(order);
  });

/** Reports the status of a job. Throws when the orchestrator refuses. */
export async function report(lane: Lane, { job_id: job, attempt_id }: Offer, status: string): Promise<void> {
  const answer = await lane.call(`/api/workers/job/${job}/status`, JSON.stringify({ status, attempt_id }));
  if (answer.status !== 200)
    throw new Error(`The report "${status}" of ${job} returned ${answer.status}: ${answer.text}`);
}

/** Submits a job. Throws when it is refused. */
export async function submit(lane: Lane, mark: number): Promise<void> {
  const body = JSON.stringify({ config: configOf(mark), config_name: 'bench' });
  const { status, text } = await lane.call('/api/queue/submit', body);
  if (status !== 200) throw new Error(`The submit returned ${status}: ${text}`);
}

/** A config of typical size. Its mark identifies the job. */
export const configOf = (mark: number): object => ({ ...usualConfig, mark });

const usualConfig = {
  model_family: 'sdxl',
  model_type: 'lora',
  pretrained_model_name_or_path: 'stabilityai/stable-diffusion-xl-base-1.0',
  output_dir: null,
  learning_rate: 1e-4,
  train_batch_size: 4,
  max_train_steps: 10_000,
  validation_prompt: 'a photograph of a red bicycle in front of a brick wall',
};
