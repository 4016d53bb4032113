import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { asJson, sendRaw } from '../../support/raw-request.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

/** Registers a worker with two GPUs over HTTP. */
async function addRig(name: string) {
  const { id, token } = await server.createWorker({ name });
  const tokenHeader = ['x-worker-token', token] as const;
  const post = (path: string, body: object) =>
    sendRaw(server.url, {
      method: 'POST',
      path,
      headers: [tokenHeader, asJson],
      body: JSON.stringify(body),
    });
  await post('/api/workers/register', { protocol: 2, persistent: true, gpu_count: 2 });
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  await fetch(`${server.url}/api/workers/stream`, { headers: [[...tokenHeader]], signal: controller.signal });
  await server.watch.worker(id, 'idle');
  return {
    beat: (body: object) => post('/api/workers/heartbeat', body),
    figures: async () => valueOf(await server.admin.call(workersApi.get, { params: { id } })).gpu_figures,
  };
}

const fullFigures = {
  utilization: 97,
  vram_used_gb: 22.4,
  temperature_c: 71,
  power_w: 431.7,
  power_limit_w: 450,
};

test('returns the GPU figures of the last heartbeat', async () => {
  const rig = await addRig('rig-figures');
  expect(await rig.figures()).toEqual([]);
  const gpus = [
    { index: 0, ...fullFigures },
    { index: 1, ...fullFigures, utilization: 0, power_w: null },
  ];
  expect((await rig.beat({ gpu_figures: gpus })).status).toBe(200);
  expect(await rig.figures()).toEqual(gpus);
});

test("returns no GPU figures after a heartbeat without any, as SimpleTuner's published agent sends", async () => {
  const rig = await addRig('rig-published');
  await rig.beat({ gpu_figures: [{ index: 0, ...fullFigures }] });
  expect((await rig.beat({ status: 'idle', current_job_id: null })).status).toBe(200);
  expect(await rig.figures()).toEqual([]);
});

test('accepts a heartbeat with invalid GPU figures, and returns null for each of them', async () => {
  const rig = await addRig('rig-odd');
  const many = Array.from({ length: 5_000 }, (_, index) => ({ index, utilization: -1, power_w: '400' }));
  expect((await rig.beat({ gpu_figures: many })).status).toBe(200);
  const figures = await rig.figures();
  expect(figures).toHaveLength(64);
  expect(figures[0]).toMatchObject({ index: 0, utilization: null, power_w: null });
  expect((await rig.beat({ gpu_figures: 'all of them' })).status).toBe(200);
  expect(await rig.figures()).toEqual([]);
});
