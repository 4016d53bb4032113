import { afterAll, beforeAll, expect, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { valueOf } from '../support/server.ts';
import { startSlurmFleet } from '../support/slurm-fleet.ts';
import { type SlurmLab, startSlurmLab } from '../support/slurm-lab.ts';

let lab: SlurmLab;

beforeAll(async () => {
  lab = await startSlurmLab();
}, 30_000);

afterAll(() => lab.stop());

test('cancels a pending Slurm job when the job that it was ordered for is cancelled', async () => {
  const fleet = await startSlurmFleet(lab);
  const pool = await fleet.createPool('down', { partition: 'down' });
  const job = await fleet.submitDigits(1);
  const waiting = await fleet.until('a reason from Slurm', async () => {
    const [launch] = await fleet.launches(pool);
    return launch?.reason === undefined || launch.reason === null ? null : launch;
  });
  expect(waiting).toMatchObject({
    state: 'waiting',
    reason: { text: expect.stringMatching(/PartitionDown/) },
  });
  expect((await fleet.job(job)).reason).toMatch(/^Requested from pool down at .* \(Slurm job \d+\): /);

  valueOf(await fleet.client.call(queueApi.cancel, { params: { id: job } }));
  const deadline = Date.now() + 10_000;
  await fleet.until('an empty queue', async () =>
    (await lab.slurm('squeue', '-h', '-p', 'down')) === '' ? true : null,
  );
  expect(Date.now()).toBeLessThan(deadline);
}, 60_000);
