// See docs/internals/semantics.md, sections 1, 2 and 7.
import { expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';

test('dispatches a submitted job to an idle worker, and returns that worker', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { gpus: 4 } });
  const answer = await fleet.submit({ config: { lr: 1 }, gpu_count: 2 });
  expect(answer).toEqual({
    jobId: 'j_1',
    workerId: rig.id,
    gpus: [0, 1],
    status: 'running',
    position: null,
    reason: null,
    isRepeat: false,
    warnings: [],
  });
  expect(rig.commands).toEqual([
    {
      type: 'job_submit',
      job_id: 'j_1',
      attempt_id: 'a_1',
      config_name: 'inline',
      config: { lr: 1 },
      dataloader: null,
      data: [],
      files: {},
      gpus: [0, 1],
      upload_endpoint: '/api/cloud/storage',
      provider: null,
      hf_token: null,
      on_lost_contact: 'continue',
      resume: null,
    },
  ]);
  expect(fleet.job(answer.jobId)).toMatchObject({ status: 'dispatched', attempt: 1, worker_id: rig.id });
  expect(rig.view()).toMatchObject({ status: 'busy', current_job_id: answer.jobId });
});

test('returns the position and the reason for a job that has to wait', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.runJob(rig);
  expect(await fleet.submit()).toEqual({
    jobId: 'j_2',
    status: 'queued',
    workerId: null,
    gpus: null,
    position: 1,
    reason: 'No idle workers: 0 of 1 worker can take this job: 1 busy',
    isRepeat: false,
    warnings: [],
  });
  expect(await fleet.submit()).toMatchObject({ position: 2 });
  expect(await fleet.submit({ priority: 20 })).toMatchObject({ position: 1 });
  expect(await fleet.submit({ gpu_count: 2 })).toMatchObject({
    reason: 'GPU requirements not met: 0 of 1 worker can take this job: 1 with fewer than 2 GPUs (have 1)',
  });
});

test('keeps a job pending until the stream of the registered worker opens', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker();
  expect(rig.view()).toMatchObject({ status: 'connecting', status_reason: 'never_registered' });
  const { jobId } = await fleet.submit();
  await rig.register();
  expect(rig.view()).toMatchObject({ status: 'connecting', status_reason: 'no_stream' });
  expect(fleet.job(jobId).status).toBe('pending');
  await rig.openStream();
  expect(rig.lastOffer().job_id).toBe(jobId);
});

test('shows a worker that never registered as connecting for 300 s', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker();
  await fleet.clock.advance(299_999);
  expect(rig.view().status).toBe('connecting');
  await fleet.clock.advance(1);
  expect(rig.view()).toMatchObject({ status: 'offline', status_reason: 'never_registered' });
});

test('dispatches the next job as soon as a worker becomes idle', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const first = await fleet.runJob(rig);
  const { jobId: second } = await fleet.submit();
  expect(rig.lastOffer().job_id).toBe(first);
  await rig.report(first, 'completed', { exit_code: 0 });
  expect(rig.lastOffer().job_id).toBe(second);
});

test('dispatches jobs by priority, and by submission order within a priority', async () => {
  const fleet = await openFleet();
  const priorities = [10, 10, 50, 0, 20, 10];
  const jobs: string[] = [];
  for (const priority of priorities) jobs.push((await fleet.submit({ priority })).jobId);
  const rig = await fleet.addIdleWorker();
  for (let left = jobs.length; left > 0; left--) {
    const { job_id: jobId } = rig.lastOffer();
    await rig.run(jobId);
    await rig.report(jobId, 'completed', { exit_code: 0 });
  }
  const order = rig.commandsOf('job_submit').map(({ job_id: jobId }) => jobId);
  expect(order).toEqual([2, 4, 0, 1, 5, 3].map(index => jobs[index]));
});

test('dispatches small jobs behind a job that no worker can run', async () => {
  const fleet = await openFleet();
  const { jobId: tooBig } = await fleet.submit({ gpu_count: 8, priority: 50 });
  const { jobId: small } = await fleet.submit({ gpu_count: 1 });
  const rig = await fleet.addIdleWorker();
  expect(rig.lastOffer().job_id).toBe(small);
  expect(fleet.job(tooBig)).toMatchObject({ status: 'pending', position: 1 });
});

test('dispatches a job to a worker that registers with more GPUs', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { gpus: 1 } });
  const { jobId } = await fleet.submit({ gpu_count: 2 });
  expect(rig.commands).toEqual([]);
  await rig.register({ gpus: 2 });
  expect(rig.lastOffer().job_id).toBe(jobId);
});

test('dispatches a job to the smallest worker that fits', async () => {
  const fleet = await openFleet();
  const big = await fleet.addIdleWorker({ agent: { gpus: 8 } });
  const small = await fleet.addIdleWorker({ agent: { gpus: 2 } });
  await fleet.addIdleWorker({ agent: { gpus: 1 } });
  expect(await fleet.submit({ gpu_count: 2 })).toMatchObject({ workerId: small.id });
  expect(await fleet.submit({ gpu_count: 2 })).toMatchObject({ workerId: big.id });
});

test.each([
  [{ gpu_type: 'a100' }, { gpu_type: 'a100' }, true],
  [{ gpu_type: 'a100*' }, { gpu_type: 'a100-80gb' }, true],
  [{ gpu_type: 'a100*' }, { gpu_type: 'rtx4090' }, false],
  [{ path: '*a100' }, { path: 'org/a100' }, true],
  [{ host: 'rig-?' }, { host: 'rig-7' }, true],
  [{ host: 'rig-?' }, { host: 'rig-17' }, false],
  [{ host: 'rig-[12]' }, { host: 'rig-2' }, true],
  [{ name: '.hidden' }, { name: '.hidden' }, true],
  [{ name: '*' }, { name: '.hidden' }, true],
  [{ name: '{a,b}' }, { name: 'a' }, true],
  [{ name: '{a,b}' }, { name: 'c' }, false],
  [{ name: '!a' }, { name: 'b' }, false],
  [{ name: '@(a|b)' }, { name: 'a' }, false],
  [{ team: 'nlp', zone: 'eu-*' }, { team: 'nlp', zone: 'eu-1' }, true],
  [{ team: 'nlp', zone: 'eu-*' }, { team: 'nlp', zone: 'us-1' }, false],
  [{ team: '*' }, {}, false],
  [{}, { team: 'nlp' }, true],
  [{ team: 'NLP' }, { team: 'nlp' }, false],
  [{ team: 'größe*' }, { team: 'größe-1' }, true],
  [{ toString: '*' }, {}, false],
])('matches required labels %j against a worker with labels %j: %j', async (required, labels, fits) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ labels });
  const { workerId } = await fleet.submit({ worker_labels: required });
  expect(workerId).toBe(fits ? rig.id : null);
});

test.each([
  [{ gpu_count: 3 }, {}, 3],
  [{}, { num_processes: 2 }, 2],
  [{}, { '--num_processes': '2' }, 2],
  [{ gpu_count: 1 }, { num_processes: 2 }, 1],
  [{}, {}, 0],
])(
  'reads the GPU count from the request %j, or else from the config %j, as %i',
  async (request, config, count) => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit({ ...request, config });
    expect(fleet.job(jobId).gpu_count).toBe(count);
  },
);

test('dispatches jobs that are submitted at the same time to different workers', async () => {
  const fleet = await openFleet();
  const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
  const answers = await Promise.all([fleet.submit(), fleet.submit(), fleet.submit()]);
  expect(new Set(answers.map(({ workerId }) => workerId))).toEqual(
    new Set([...rigs.map(rig => rig.id), null]),
  );
  expect(rigs.map(rig => rig.commandsOf('job_submit').length)).toEqual([1, 1]);
});
