import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type Rig } from '../../support/upload-bench.ts';

const wandb = { kind: 'wandb', url: 'https://wandb.ai/ada/flux/runs/8k2v1q0x' };
const mlflow = { kind: 'mlflow', url: 'http://mlflow.lan:5000/#/experiments/1/runs/0b7f' };

let server: TestServer;
let rig: Rig;
beforeAll(async () => {
  server = await startTestServer();
  rig = await openRig(server);
});
afterAll(() => server.close());

// Starts a job on the only worker. Each test ends its job, so that the job of the next test can start.
async function startOfferedJob() {
  const id = await server.submit({ config: {} });
  const offer = await rig.nextOffer();
  const report = async (status: string, more: object = {}): Promise<void> =>
    expect((await rig.report(offer, status, more)).status).toBe(200);
  await report('starting');
  const readJob = async () => valueOf(await server.admin.call(queueApi.get, { params: { id } }));
  return { id, report, readJob };
}

describe('links of a job to experiment trackers', () => {
  test('stores the links of a report with the attempt, and shows them with the job', async () => {
    const { report, readJob } = await startOfferedJob();
    expect(await readJob()).toMatchObject({ links: [] });
    await report('running', { links: [wandb] });
    expect(await readJob()).toMatchObject({ links: [wandb], attempts: [{ links: [wandb] }] });
    await report('running', { links: [wandb, mlflow] });
    await report('running');
    await report('completed', { links: [mlflow] });
    expect((await readJob()).links).toEqual([wandb, mlflow]);
  });

  test('removes secrets from links, and drops links that are not the URL of a run', async () => {
    const { report, readJob } = await startOfferedJob();
    const url = 'https://u:p@wandb.ai/ada/flux/runs/8k2v1q0x?apiKey=0123456789abcdef';
    const oddLinks = [{ kind: 'wandb', url: 'javascript:alert(1)//a/b/runs/c' }, 'x', { kind: 'wandb', url }];
    await report('running', { links: oddLinks });
    expect((await readJob()).links).toEqual([wandb]);
    await report('completed', { links: 'nonsense' });
    expect((await readJob()).links).toEqual([wandb]);
  });

  test('keeps at most four links of an attempt', async () => {
    const { report, readJob } = await startOfferedJob();
    for (let n = 0; n < 6; n += 1)
      await report('running', { links: [{ kind: 'wandb', url: `https://wandb.ai/a/b/runs/${n}` }] });
    expect((await readJob()).links.map(({ url }) => url.at(-1))).toEqual(['0', '1', '2', '3']);
    await report('completed');
  });

  test('sends one event for a link that several reports repeat', async () => {
    const { id, report } = await startOfferedJob();
    for (let n = 0; n < 3; n += 1) await report('running', { links: [wandb] });
    await report('completed');
    await server.watch.job(id, 'completed');
    const jobEventTypes = server.watch.seen.flatMap(event =>
      event.kind === 'job' && event.job_id === id ? [event.type] : [],
    );
    expect(jobEventTypes.filter(type => type === 'job.progress')).toHaveLength(1);
  });
});
