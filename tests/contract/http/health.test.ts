import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { healthApi, HealthReport, SystemStatus } from '../../../protocol/health-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { createLightWorker } from '../../support/light-worker.ts';
import { Agent } from 'node:http';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const get = (path: string, token?: string): Promise<Response> =>
  fetch(server.url + path, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });

async function tokenFor(name: string, permissions: readonly string[]): Promise<string> {
  const body = { name, permissions } as never;
  return valueOf(await server.admin.call(tokensApi.create, { body })).token;
}

describe('liveness and readiness', () => {
  it.each([
    ['/api/cloud/health/live', { status: 'ok' }],
    ['/api/cloud/health/ready', { status: 'ready' }],
  ])('serves %s without a token', async (path, answer) => {
    const response = await get(path);
    expect([response.status, await response.json()]).toEqual([200, answer]);
  });
});

describe('GET /api/cloud/health', () => {
  it.each(['/api/cloud/health', '/api/cloud/health?include_providers=true'])(
    'reports every component at %s',
    async path => {
      const response = await get(path, server.adminToken);
      const report = HealthReport.parse(await response.json());
      expect(report.components.map(({ name }) => name)).toEqual([
        'database',
        'disk',
        'clock',
        'health_loop',
        'workers',
        'backup',
      ]);
      expect(report).toMatchObject({ status: 'healthy', uptime_seconds: expect.any(Number) });
      expect(report.components[0]?.latency_ms).toBeGreaterThanOrEqual(0);
    },
  );

  it.each(['/api/cloud/health', '/api/system/status'])(
    'requires a token with queue.view for %s',
    async path => {
      expect((await get(path)).status).toBe(401);
      const tokenWithoutView = await tokenFor(`weak${path.replaceAll('/', '-')}`, ['queue.submit']);
      expect((await get(path, tokenWithoutView)).status).toBe(403);
      const ownJobsToken = await tokenFor(`own${path.replaceAll('/', '-')}`, ['queue.view.own']);
      expect((await get(path, ownJobsToken)).status).toBe(403);
    },
  );

  it('serves health and system status to a token with only queue.view', async () => {
    const token = await tokenFor('watcher', ['queue.view']);
    expect((await get('/api/cloud/health', token)).status).toBe(200);
    expect((await get('/api/system/status', token)).status).toBe(200);
  });

  it('reports the server as degraded while no worker is connected', async () => {
    const ownServer = await startTestServer();
    onTestFinished(() => ownServer.close());
    await ownServer.createWorker({ name: 'rig' });
    const { status, components } = valueOf(await ownServer.admin.call(healthApi.report));
    expect(status).toBe('degraded');
    expect(components.find(({ name }) => name === 'workers')).toMatchObject({
      status: 'degraded',
      message: '0 of 1 workers connected, 0 streams open',
    });
  });
});

describe('GET /api/system/status', () => {
  it('shows the memory usage, and omits the GPU allocation by default', async () => {
    const status = SystemStatus.parse(await (await get('/api/system/status', server.adminToken)).json());
    expect(status.memory_percent).toBeGreaterThan(0);
    expect(status.memory_percent).toBeLessThanOrEqual(100);
    expect(status.gpu_allocation).toBeUndefined();
    expect(Math.abs(status.timestamp - Date.now() / 1_000)).toBeLessThan(60);
  });

  it('shows which job uses which GPU of which worker', async () => {
    const { id, token } = await server.createWorker({ name: 'rig-gpus' });
    const agent = new Agent();
    const worker = createLightWorker({ url: server.url, id, token, agent });
    onTestFinished(() => {
      worker.cut();
      agent.destroy();
    });
    await worker.register({ gpu_count: 4 });
    await worker.openStream();
    const job = await server.submit({ config: {}, gpu_count: 2 });
    const { gpu_allocation: allocation } = valueOf(
      await server.admin.call(healthApi.status, { query: { include_allocation: 'true' } }),
    );
    expect(allocation).toMatchObject({ allocated_gpus: [], devices: [], running_local_jobs: 0 });
    expect(allocation?.workers).toMatchObject([
      {
        worker_id: id,
        name: 'rig-gpus',
        local: false,
        status: 'busy',
        job_id: job,
        total_gpus: 4,
        allocated_gpus: [0, 1],
        available_gpus: [],
      },
    ]);
  });

  it('omits the workers from the GPU allocation for a token without admin.workers', async () => {
    const viewer = await tokenFor('viewer', ['queue.view']);
    const response = await get('/api/system/status?include_allocation=true', viewer);
    const { gpu_allocation: allocation } = SystemStatus.parse(await response.json());
    expect(allocation).toMatchObject({ allocated_gpus: [], running_local_jobs: 0 });
    expect(allocation).not.toHaveProperty('workers');
  });
});
