import { expect, onTestFinished, test } from 'vitest';
import { createImages, startDataRig, submitWithData } from '../support/data-rig.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../unit/agent/guard-rig.ts';

test('resumes a dataset download where a killed worker stopped', async () => {
  const server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
  onTestFinished(() => server.close());
  const { path, digests } = createImages(400, 50_000);
  const rig = await startDataRig(server, 'rig-1');
  const program = rig.start();
  const job = await submitWithData(server, path);
  await until(() => Promise.resolve(rig.cached().length > 100 ? true : null), 30_000);
  program.kill('SIGKILL');
  await program.exited;
  const completeFiles = rig.cached().filter(name => /^[0-9a-f]{2}.[0-9a-f]{62}$/.test(name));
  expect(completeFiles.length).toBeLessThan(400);
  const restarted = rig.start();
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  expect(rig.seen(job)).toEqual(digests);
  const [, fetchedMegabytes] = await restarted.waitForLine(/Data: .* ([\d.]+) MB fetched/);
  // The whole dataset has 20 MB.
  expect(Number(fetchedMegabytes)).toBeLessThanOrEqual(20 - completeFiles.length * 0.05 + 0.1);
});
