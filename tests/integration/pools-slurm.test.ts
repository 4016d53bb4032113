import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import { auditApi, workersApi } from '../../protocol/admin-api.ts';
import { startSlurmFleet } from '../support/slurm-fleet.ts';
import { type SlurmLab, startSlurmLab } from '../support/slurm-lab.ts';
import { valueOf } from '../support/server.ts';

let lab: SlurmLab;

beforeAll(async () => {
  lab = await startSlurmLab();
}, 30_000);

afterAll(() => lab.stop());

test('trains a job of an empty fleet on a machine from Slurm, and releases the machine', async () => {
  const fleet = await startSlurmFleet(lab);
  const pool = await fleet.createPool('gpu', { partition: 'gpu' });
  const job = await fleet.submitDigits(1);

  const running = await fleet.until('a launch that has joined', async () => {
    const [launch] = await fleet.launches(pool);
    // The worker may register before the engine's next list names its machine.
    return launch?.state === 'joined' && launch.machines.length > 0 ? launch : null;
  });
  expect(running).toMatchObject({ machines: [expect.stringMatching(/^rig[12]$/)], job_id: job, gpus: 0 });
  const slurmJobText = await lab.slurm('scontrol', 'show', 'job', running.engine_id ?? '');
  expect(slurmJobText).toContain(`JobName=trainyard-`);

  expect(await fleet.jobIn(job, 'completed')).toMatchObject({ attempt: 1, worker_name: running.worker_name });
  const { artifacts } = valueOf(await fleet.client.call(artifactsApi.list, { params: { id: job } }));
  // The digits trainer saves its model as a checkpoint.
  expect(artifacts.map(({ kind }) => kind)).toContain('checkpoint');

  const ended = await fleet.until('the launch to end', async () => {
    const [launch] = await fleet.launches(pool);
    return launch?.state === 'ended' ? launch : null;
  });
  expect(ended).toMatchObject({ outcome: 'finished', detail: 'It had no job for 2 s' });
  expect(await lab.slurm('squeue', '--me', '-h')).toBe('');
  const { workers } = valueOf(await fleet.client.call(workersApi.list));
  expect(workers).toEqual([]);

  // Join tokens start with `tj_`, and tokens of workers with `wt_`.
  const { entries } = valueOf(await fleet.client.call(auditApi.list, { query: { limit: 500 } }));
  const texts = [lab.calls(), slurmJobText, fleet.server.lines.join('\n'), JSON.stringify(entries)];
  expect(texts.join('\n')).not.toMatch(/\b(?:tj|wt)_\w/);
  expect(readFileSync(join(lab.folder, 'workers.log'), 'utf8')).not.toMatch(/\btj_\w/);
}, 90_000);
