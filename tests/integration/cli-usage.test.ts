import { expect, onTestFinished, test } from 'vitest';
import { asJson, sendRaw } from '../support/raw-request.ts';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer } from '../support/server.ts';

test('shows the GPU-hours, energy and cost of the last days', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const run = (...args: readonly string[]) => runTrainyard([...args, '--data-dir', server.dataDir]);
  const before = await run('queue', 'usage', '--days', '2');
  expect(before.out).toMatch(/^DAY +GPU-HOURS +ENERGY +COST\n(\d{4}-\d\d-\d\d +\d+\.\d\d +- +-\n){2}$/);

  const { token } = await server.createWorker({ name: 'rig' });
  const headers = [['x-worker-token', token] as const, asJson];
  const post = (path: string, body: object) =>
    sendRaw(server.url, { method: 'POST', path, headers, body: JSON.stringify(body) });
  await post('/api/workers/register', { protocol: 2, persistent: true, gpu_count: 1 });
  // The two heartbeats follow each other quickly, so only an unrealistic power adds up to a visible energy.
  const gpu = { index: 0, utilization: null, vram_used_gb: null, temperature_c: null, power_limit_w: null };
  for (const _heartbeat of [1, 2])
    await post('/api/workers/heartbeat', { gpu_figures: [{ ...gpu, power_w: 1_000_000 }] });
  await run('settings', 'set', 'electricity.price_per_kwh=1000000', 'electricity.currency=EUR');
  const after = await run('queue', 'usage', '--days', '1');
  expect(after.out).toMatch(/\d\.\d{3} kWh +\d+\.\d\d EUR\n$/);
  for (const days of ['0', '31', 'all']) expect((await run('queue', 'usage', '--days', days)).code).toBe(2);
});
