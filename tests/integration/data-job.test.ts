/** Datasets on real rigs: each worker downloads the data of a job once, and the trainer finds the data. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { createImages, startDataRig, submitWithData } from '../support/data-rig.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
});
afterEach(() => server.close());

test('delivers a dataset to two rigs, and downloads nothing for a second job on a rig', async () => {
  const { path, digests } = createImages(200, 20_000);
  const first = await startDataRig(server, 'rig-1');
  const program = first.start();
  const job = await submitWithData(server, path);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  expect(first.seen(job)).toEqual(digests);
  const secondJob = await submitWithData(server, path);
  expect(await server.watch.jobEnd(secondJob)).toMatchObject({ status: 'completed' });
  await program.waitForLine(/already on this rig/);
  program.kill('SIGTERM');
  await program.exited;
  const second = await startDataRig(server, 'rig-2');
  second.start();
  const jobOnSecondRig = await submitWithData(server, path);
  expect(await server.watch.jobEnd(jobOnSecondRig)).toMatchObject({ status: 'completed' });
  expect(second.seen(jobOnSecondRig)).toEqual(digests);
});

test("fails a job whose data exceeds the rig's cache, and names both sizes", async () => {
  const { path } = createImages(30, 100_000);
  const rig = await startDataRig(server, 'rig-1', '--data-cache', '1MB');
  rig.start();
  const job = await submitWithData(server, path);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'failed' });
  const { error_message: errorMessage } = valueOf(
    await server.admin.call(queueApi.get, { params: { id: job } }),
  );
  expect(errorMessage).toContain("The data is 3.0 MB, but this rig's cache can hold only 1.0 MB");
});
