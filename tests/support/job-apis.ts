import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A simulated HTTP API that runs machines: pods of RunPod, or jobs of Ray. */
export interface FakeApi {
  readonly url: string;
  /** The pods or jobs that exist, by id. */
  readonly items: Map<string, Record<string, unknown>>;
  /** Makes the API answer the next order with this failure. */
  refuse(status: number, body: string): void;
  stop(): Promise<void>;
}

type Answer = readonly [status: number, body: unknown];
type Handle = (
  method: string,
  path: string,
  body: Record<string, unknown>,
  items: FakeApi['items'],
) => Answer;

const read = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
};

/**
 * Starts an API on loopback. `orderPath`: the path of the POST that creates an item. `authorization`: the required header; null
 * accepts all requests.
 */
async function startApi(orderPath: string, authorization: string | null, handle: Handle): Promise<FakeApi> {
  const items: FakeApi['items'] = new Map();
  let refusal: Answer | null = null;
  const server = createServer((request, response) => {
    void read(request).then(body => {
      const { method = '', url = '' } = request;
      const isOrder = method === 'POST' && url === orderPath;
      const isAllowed = authorization === null || request.headers.authorization === authorization;
      let answer: Answer;
      if (!isAllowed) answer = [401, 'Unauthorized'];
      else if (isOrder && refusal !== null) answer = refusal;
      else answer = handle(method, url, body, items);
      if (isOrder) refusal = null;
      const [status, content] = answer;
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(status === 204 ? undefined : text);
    });
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    items,
    refuse: (status, body) => {
      refusal = [status, body];
    },
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Simulates the pods of RunPod's REST API (runpod/docs api-reference/openapi.json). A pod runs 100 ms after its order. */
export function startRunPodApi(key: string): Promise<FakeApi> {
  let ids = 0;
  return startApi('/pods', `Bearer ${key}`, (method, path, body, pods) => {
    const id = path.split('/')[2];
    if (method === 'GET' && path === '/pods') return [200, [...pods.values()]];
    if (method === 'POST' && path === '/pods') {
      const podId = `pod${(ids += 1)}`;
      const pod = {
        ...body,
        id: podId,
        desiredStatus: 'RUNNING',
        machineId: '',
        interruptible: body['interruptible'],
      };
      pods.set(podId, pod);
      setTimeout(() => {
        if (pods.get(podId) === pod)
          pods.set(podId, { ...pod, machineId: 's194cr8pls2z', lastStartedAt: new Date().toISOString() });
      }, 100);
      return [201, pod];
    }
    if (method === 'DELETE' && id !== undefined)
      return pods.delete(id) ? [204, ''] : [400, { detail: 'Invalid Pod ID.' }];
    return [404, 'not found'];
  });
}

/**
 * Simulates Ray's Jobs API (ray-project/ray python/ray/dashboard/modules/job/job_head.py). A job runs 100 ms after its
 * submission.
 */
export function startRayApi(): Promise<FakeApi> {
  return startApi('/api/jobs/', null, (method, path, body, jobs) => {
    if (path === '/api/version') return [200, { version: '4', ray_version: '2.49.0', ray_commit: 'abc' }];
    if (method === 'GET' && path === '/api/jobs/')
      return [200, [...jobs.values(), { type: 'DRIVER', submission_id: null, status: 'RUNNING' }]];
    if (method === 'POST' && path === '/api/jobs/') {
      const id = String(body['submission_id']);
      if (jobs.has(id))
        return [
          500,
          `Traceback (most recent call last):\nValueError: Job with submission_id ${id} already exists. Please use a different submission_id.`,
        ];
      const message =
        'Job has not started yet. It may be waiting for resources (CPUs, GPUs, memory, custom resources) to become available.';
      const job = { ...body, type: 'SUBMISSION', submission_id: id, status: 'PENDING', message };
      jobs.set(id, job);
      setTimeout(() => {
        if (jobs.get(id)?.['status'] !== 'PENDING') return;
        const place = { driver_agent_http_address: 'http://10.0.0.7:52365', start_time: Date.now() };
        jobs.set(id, { ...job, status: 'RUNNING', message: 'Job is currently running.', ...place });
      }, 100);
      return [200, { job_id: id, submission_id: id }];
    }
    const [, id = ''] = /^\/api\/jobs\/([^/]+)\/stop$/.exec(path) ?? [];
    const job = jobs.get(id);
    if (job === undefined) return [404, `Job ${id} does not exist`];
    jobs.set(id, { ...job, status: 'STOPPED', message: 'Job was intentionally stopped.' });
    return [200, { stopped: true }];
  });
}
