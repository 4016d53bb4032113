import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { root, temporaryFolder } from '../support/processes.ts';
import { createShortcuts, valueOf } from '../support/server.ts';
import { startSlurmFleet } from '../support/slurm-fleet.ts';
import { type SlurmLab, startSlurmLab } from '../support/slurm-lab.ts';

/** Most tests use the partition `gpu`. Jobs on the partition `top` preempt jobs on the partition `low`. */
const partitions = `PartitionName=gpu Nodes=rig[1-2] Default=YES
PartitionName=low Nodes=rig[3-4] PriorityTier=1 PreemptMode=REQUEUE GraceTime=20
PartitionName=top Nodes=rig[3-4] PriorityTier=10
`;

const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).trim();
const trainer = join(root, 'tests/support/trainers/rendezvous.py');

let lab: SlurmLab;

beforeAll(async () => {
  lab = await startSlurmLab(partitions);
}, 30_000);

afterAll(() => lab.stop());

interface ReportedEvent {
  readonly what: string;
  readonly rank: number;
  readonly pid?: number;
  readonly [name: string]: unknown;
}

/** Creates a pool whose launches have two nodes, and submits a job for two nodes. */
async function startTraining(partition: string, config: { readonly seconds: number }, more = {}) {
  const fleet = await startSlurmFleet(lab);
  const folder = temporaryFolder();
  const report = join(folder, 'report');
  const pool = await fleet.createPool(partition, {
    partition,
    nodes: 2,
    // The names of these nodes cannot be resolved, so use an address.
    setup: 'export MASTER_ADDR=127.0.0.1',
    worker_options: `--work-dir '${folder}/jobs' --trainer "${python} ${trainer} {config_path} {output_dir} {resume_from}"`,
  });
  const { submit } = createShortcuts(fleet.client);
  const job = await submit({
    config: { ...config, report, until: `${report}.done`, $requests: { save: { signal: 'SIGUSR1' } } },
    num_nodes: 2,
    ...more,
  });
  const readReport = (): readonly ReportedEvent[] =>
    existsSync(report)
      ? readFileSync(report, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map(line => JSON.parse(line) as ReportedEvent)
      : [];
  const reportedEvents = (eventName: string): readonly ReportedEvent[] =>
    readReport()
      .filter(event => event.what === eventName)
      .toSorted((a, b) => a.rank - b.rank);
  const waitForReport = (eventName: string, times: number): Promise<readonly ReportedEvent[]> =>
    fleet.until(
      `"${eventName}" ${times} times`,
      async () => {
        const events = reportedEvents(eventName);
        if (events.length >= times) return events;
        const { status, error_message: error } = await fleet.job(job);
        if (status === 'failed') throw new Error(error ?? status);
        return null;
      },
      60_000,
    );
  return {
    fleet,
    pool,
    job,
    reportedEvents,
    waitForReport,
    finish: () => writeFileSync(`${report}.done`, ''),
  };
}

const isGone = (pid: number | undefined): boolean => {
  try {
    process.kill(pid ?? 0, 0);
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return true;
  }
};

test('trains one job on two nodes of one allocation as one distributed training', async () => {
  const { fleet, pool, job, reportedEvents, waitForReport } = await startTraining('gpu', { seconds: 2 });
  expect(await fleet.job(job)).toMatchObject({ num_nodes: 2 });
  await waitForReport('met', 2);
  expect(await fleet.jobIn(job, 'completed', 60_000)).toMatchObject({ attempt: 1 });

  const [first, second, ...others] = reportedEvents('started');
  expect(others).toEqual([]);
  const sharedVariables = { NNODES: '2', WORLD_SIZE: '2', MASTER_ADDR: '127.0.0.1' };
  expect(first).toMatchObject({ ...sharedVariables, NODE_RANK: '0', RANK: '0', SLURMD_NODENAME: 'rig1' });
  expect(second).toMatchObject({ ...sharedVariables, NODE_RANK: '1', RANK: '1', SLURMD_NODENAME: 'rig2' });
  expect(first?.['MASTER_PORT']).toBe(second?.['MASTER_PORT']);
  expect(first?.['SLURM_JOB_ID']).toBe(second?.['SLURM_JOB_ID']);
  expect(reportedEvents('trained')).toHaveLength(2);
  // The server learns the names of the machines only from its next list of launches.
  const launches = await fleet.until('machines of the launch', async () => {
    const events = await fleet.launches(pool);
    return (events[0]?.machines.length ?? 0) > 0 ? events : null;
  });
  expect(launches).toMatchObject([{ nodes: 2, machines: ['rig1', 'rig2'], job_id: job }]);
}, 120_000);

test('ends an attempt on both Slurm nodes when one trainer fails, and retries the job in a new allocation', async () => {
  const { fleet, job, reportedEvents, waitForReport, finish } = await startTraining(
    'gpu',
    { seconds: 300 },
    { retry_on: ['trainer_exit', 'trainer_signal'] },
  );
  await waitForReport('met', 2);
  const [first, second] = reportedEvents('started');
  process.kill(second?.pid ?? 0, 'SIGKILL');
  await waitForReport('met', 4);
  finish();
  await fleet.jobIn(job, 'completed', 60_000);
  expect(isGone(first?.pid)).toBe(true);
  // The server may offer the job once more to a worker that is about to leave. Ignore such a withdrawn attempt.
  const attempts = (await fleet.attempts(job)).filter(({ outcome }) => outcome !== 'withdrawn');
  expect(attempts).toMatchObject([{ outcome: 'requeued', exit_code: 137 }, { outcome: 'completed' }]);
  expect(new Set(reportedEvents('started').map(event => event['SLURM_JOB_ID'])).size).toBe(2);
  expect(reportedEvents('trained')).toHaveLength(2);
}, 150_000);

test('stops the training on both Slurm nodes when the job is cancelled', async () => {
  const { fleet, job, reportedEvents, waitForReport } = await startTraining('gpu', { seconds: 300 });
  await waitForReport('met', 2);
  valueOf(await fleet.client.call(queueApi.cancel, { params: { id: job } }));
  await fleet.jobIn(job, 'cancelled', 30_000);
  expect(reportedEvents('interrupted')).toHaveLength(2);
  expect(reportedEvents('started').map(({ pid }) => isGone(pid))).toEqual([true, true]);
}, 90_000);

test('saves a checkpoint on the first node before Slurm preempts both nodes, and resumes from the checkpoint', async () => {
  const { fleet, job, reportedEvents, waitForReport } = await startTraining('low', { seconds: 60 });
  await waitForReport('met', 2);
  const preemptingJob = (
    await lab.slurm('sbatch', '--parsable', '-p', 'top', '-N', '2', '--exclusive', '--wrap=sleep 60')
  ).trim();
  expect(await waitForReport('saved', 1)).toMatchObject([{ rank: 0 }]);
  await fleet.until(
    'the end of the first attempt',
    async () => (await fleet.attempts(job))[0]?.outcome ?? null,
  );
  expect((await fleet.attempts(job))[0]).toMatchObject({ outcome: 'requeued', cause: 'preempted' });
  expect(reportedEvents('started').map(({ pid }) => isGone(pid))).toEqual([true, true]);
  await lab.slurm('scancel', preemptingJob);
  await waitForReport('met', 4);
  expect(
    reportedEvents('started').filter(({ resume }) => String(resume).endsWith('checkpoint-1')),
  ).toHaveLength(2);
  const { artifacts } = valueOf(await fleet.client.call(artifactsApi.list, { params: { id: job } }));
  expect(artifacts.map(({ kind }) => kind)).toContain('checkpoint');
}, 150_000);
