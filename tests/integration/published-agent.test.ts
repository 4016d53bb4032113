import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { startV1Agent, type V1Agent } from '../support/v1-agent.ts';
import type { V1AgentOptions } from '../support/v1-core.ts';
import { manualTrainer, scriptedTrainer } from '../support/v1-trainer.ts';

/** SimpleTuner's published agent (docs/internals/worker-contract.md, section 3) with a complete server. */
describe('the published agent', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server.close());

  const startAgent = async (
    options: Pick<V1AgentOptions, 'trainer'> & Partial<V1AgentOptions>,
  ): Promise<{ readonly agent: V1Agent; readonly id: WorkerId; readonly token: string }> => {
    const { id, token } = await server.createWorker({ name: 'rig-1', labels: { gpu_type: 'a100-80gb' } });
    const agent = startV1Agent({ url: server.url, token, name: 'host-7', persistent: true, ...options });
    onTestFinished(() => void agent.kill());
    await server.watch.worker(id, 'idle');
    return { agent, id, token };
  };
  const readJob = async (id: JobId) => valueOf(await server.admin.call(queueApi.get, { params: { id } }));
  const readWorker = async (id: WorkerId) =>
    valueOf(await server.admin.call(workersApi.get, { params: { id } }));

  test("registers the published agent without labels, and keeps the admin's name and labels", async () => {
    const { id } = await startAgent({
      trainer: scriptedTrainer(),
      gpuInfo: {
        name: 'NVIDIA A100-SXM4-80GB',
        vram_gb: 84.9,
        count: 2,
        driver: '12.4',
        accelerator: 'cuda',
      },
    });
    expect(await readWorker(id)).toMatchObject({
      name: 'rig-1',
      host: 'host-7',
      labels: { gpu_type: 'a100-80gb' },
      gpu_count: 2,
      gpu_name: 'NVIDIA A100-SXM4-80GB',
      accelerator_type: 'cuda',
      gpu_info: { driver: '12.4', vram_gb: 84.9 },
      protocol: 1,
    });
  });

  test('runs several jobs in a row on the published agent, with their uploads', async () => {
    const { agent, id } = await startAgent({ trainer: scriptedTrainer({ lines: ['step 1'] }) });
    // The HTTP library of the agent treats the separator U+2028 as the end of a line unless it is escaped.
    const config = { '--num_processes': 0, model_family: 'sdxl', note: 'a line\u2028break' };
    const first = await server.submit({ config, worker_labels: { gpu_type: 'a100*' } });
    expect(await server.watch.jobEnd(first)).toMatchObject({
      status: 'completed',
      attempt: 1,
      worker_id: id,
    });
    const [firstStart] = agent.events.of('jobStarted');
    expect(firstStart?.job).toMatchObject({ jobId: first, config, dataloader: null });
    expect(firstStart?.job.uploadUrl).toBe(`${server.url}/api/cloud/storage`);
    // Upload a file as a trainer does, with the variables of its environment.
    const uploadResponse = await fetch(`${firstStart?.job.uploadUrl}/outputs/${first}/lora.safetensors`, {
      method: 'PUT',
      headers: { 'X-SimpleTuner-Secret': firstStart?.job.uploadToken ?? '' },
      body: 'weights',
    });
    expect([uploadResponse.status, await uploadResponse.json()]).toMatchObject([
      200,
      { Bucket: 'outputs', Key: `${first}/lora.safetensors` },
    ]);

    const moreJobs = await Promise.all([1, 2, 3].map(() => server.submit({ config })));
    for (const job of moreJobs) {
      expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    }
    expect(agent.events.of('jobDropped')).toEqual([]);
  });

  test("fails a job with the published agent's exit code, without a retry", async () => {
    await startAgent({ trainer: scriptedTrainer({ exitCode: 3 }) });
    const job = await server.submit({ config: {} });
    expect(await server.watch.jobEnd(job)).toMatchObject({
      status: 'failed',
      cause: 'trainer_exit',
      attempt: 1,
    });
  });

  test('cancels a training of the published agent, which then takes the next job', async () => {
    const trainers = manualTrainer();
    const { agent } = await startAgent({ trainer: trainers.trainer });
    const first = await server.submit({ config: {} });
    const second = await server.submit({ config: {} });
    const run = await trainers.run(0);
    run.print('step 1');
    await server.watch.job(first, 'running');
    const answer = valueOf(await server.admin.call(queueApi.cancel, { params: { id: first } }));
    expect(answer).toMatchObject({ success: true, status: 'cancelling' });
    // The agent handles commands only while its trainer prints.
    if (run.exitCode() === null) run.print('step 2');
    expect(await server.watch.jobEnd(first)).toMatchObject({ status: 'cancelled' });

    const secondRun = await trainers.run(1);
    secondRun.print('step 1');
    await server.watch.job(second, 'running');
    secondRun.exit(0);
    expect(await server.watch.jobEnd(second)).toMatchObject({ status: 'completed', attempt: 1 });
    // Late reports about an ended job are accepted, and change nothing.
    for (const post of agent.events.of('statusPosted')) expect(post.answerStatus).toBe(200);
    expect(await readJob(first)).toMatchObject({ status: 'cancelled' });
  });

  test('runs one job on an ephemeral published agent, and marks the worker offline after its goodbye', async () => {
    const { agent, id } = await startAgent({
      trainer: scriptedTrainer({ lines: ['step 1'] }),
      persistent: false,
    });
    const [first, second] = [await server.submit({ config: {} }), await server.submit({ config: {} })];
    expect(await server.watch.jobEnd(first)).toMatchObject({ status: 'completed' });
    expect(await agent.events.waitFor('queueAsked')).toMatchObject({ answerStatus: 200, hasJobs: false });
    expect(await agent.events.waitFor('exited')).toMatchObject({ code: 0 });
    expect(await server.watch.worker(id, 'offline')).toMatchObject({
      status_reason: 'goodbye',
      persistent: false,
    });
    expect(await readJob(second)).toMatchObject({ status: 'pending', attempt: 0 });
  });

  test('resumes the job of a published agent whose stream was replaced', async () => {
    const trainers = manualTrainer();
    const { agent, id, token } = await startAgent({ trainer: trainers.trainer });
    const job = await server.submit({ config: {} });
    const run = await trainers.run(0);
    run.print('step 1');
    await server.watch.job(job, 'running');
    // A second stream of the same worker ends the first one in an orderly way.
    const secondStream = new AbortController();
    onTestFinished(() => secondStream.abort());
    await fetch(`${server.url}/api/workers/stream?worker_id=${id}`, {
      headers: { 'x-worker-token': token },
      signal: secondStream.signal,
    });
    run.print('step 2');
    await agent.events.waitFor('streamEnded');
    expect(await agent.events.waitFor('registered', ({ namedJob }) => namedJob === job)).toMatchObject({
      resumeJob: job,
      abandonJob: null,
    });
    run.exit(0);
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  test('retries a job when its published agent was killed, and registers without naming the job', async () => {
    const trainers = manualTrainer();
    const { agent, token } = await startAgent({ trainer: trainers.trainer });
    const job = await server.submit({ config: {} });
    (await trainers.run(0)).print('step 1');
    await server.watch.job(job, 'running');
    agent.kill();
    const restarted = startV1Agent({
      url: server.url,
      token,
      persistent: true,
      trainer: scriptedTrainer({ lines: ['step 1'] }),
    });
    onTestFinished(() => void restarted.kill());
    expect(await server.watch.jobEnd(job)).toMatchObject({
      status: 'completed',
      attempt: 2,
      max_attempts: 4,
    });
    expect((await readJob(job)).attempts).toMatchObject([
      { attempt: 1, outcome: 'requeued', cause: 'worker_lost' },
      { attempt: 2, outcome: 'completed' },
    ]);
  });
});
