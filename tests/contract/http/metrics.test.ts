import { expect, onTestFinished, test } from 'vitest';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

async function openServer(): Promise<TestServer> {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  return server;
}

async function readMetrics(
  server: TestServer,
  token = server.adminToken,
): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; (?:version=0\.0\.4; )?charset=utf-8/);
  const lines = (await response.text()).split('\n').filter(line => line !== '' && !line.startsWith('#'));
  return new Map(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

test('reports metrics of the fleet, of HTTP calls and of the process', async () => {
  const server = await openServer();
  await server.createWorker({ name: 'rig-1' });
  await server.submit({ config: {} });
  await server.submit({ config: {} });
  const metrics = await readMetrics(server);
  expect(Object.fromEntries(metrics)).toMatchObject({
    'trainyard_jobs{status="pending"}': 2,
    'trainyard_jobs{status="running"}': 0,
    'trainyard_gpus{state="busy"}': 0,
    'trainyard_worker_gpu_troubles{kind="missing"}': 0,
    'trainyard_worker_gpu_troubles{kind="errors"}': 0,
    'trainyard_worker_gpu_troubles{kind="held"}': 0,
    trainyard_queue_paused: 0,
    trainyard_worker_streams: 0,
    'http_requests_total{method="POST",route="/api/queue/submit",status="200"}': 2,
  });
  const workers = [...metrics].filter(([name]) => name.startsWith('trainyard_workers{'));
  expect(workers.reduce((sum, [, count]) => sum + count, 0)).toBe(1);
  for (const name of [
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_seconds',
    'trainyard_queue_oldest_wait_seconds',
  ])
    expect(metrics.get(name)).toBeGreaterThanOrEqual(0);
  expect([...metrics.keys()].some(name => name.startsWith('trainyard_build_info{version='))).toBe(true);
});

test('counts calls by their route, not by their URL', async () => {
  const server = await openServer();
  for (const id of ['a', 'b', 'c'])
    await fetch(`${server.url}/api/queue/${id}`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
  await fetch(`${server.url}/no/such/call`);
  const names = [...(await readMetrics(server)).entries()].filter(([name]) =>
    name.startsWith('http_requests_total'),
  );
  expect(names).toEqual([['http_requests_total{method="GET",route="/api/queue/:id",status="404"}', 3]]);
});

test('requires a token with queue.view for the metrics', async () => {
  const server = await openServer();
  expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  const createToken = async (permission: 'queue.view' | 'queue.submit') =>
    valueOf(
      await server.admin.call(tokensApi.create, { body: { name: permission, permissions: [permission] } }),
    ).token;
  await readMetrics(server, await createToken('queue.view'));
  const { status } = await fetch(`${server.url}/metrics`, {
    headers: { authorization: `Bearer ${await createToken('queue.submit')}` },
  });
  expect(status).toBe(403);
});

test('reports a working server as ready without a token', async () => {
  const server = await openServer();
  const response = await fetch(`${server.url}/health/ready`);
  expect([response.status, await response.json()]).toEqual([200, { status: 'ready' }]);
});
