/** First steps on an empty server, with API calls and real processes only: a local training, and a worker in the network. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import type { CallInput } from '../../protocol/client.ts';
import type { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { sampleTraining } from '../../protocol/sample.ts';
import { settingsApi } from '../../protocol/settings-api.ts';
import { eventually } from '../support/notices.ts';
import { argvOf, isAlive, killProcessesOf, ownerVariable, processesOf } from '../support/own-processes.ts';
import { root, temporaryFolder, trainyard } from '../support/processes.ts';
import { reapAtEnd } from '../support/reaping.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { createTrainerRecord } from '../support/trainer-record.ts';
import { watchEvents } from '../support/watch.ts';

const testLimitMs = 60_000;

/** Starts a server with an empty data folder. The server ends with the test. */
async function openServer() {
  const folder = temporaryFolder();
  const endReaper = reapAtEnd(folder);
  onTestFinished(() => {
    killProcessesOf(folder);
    endReaper();
  });
  const env = {
    [ownerVariable]: folder,
    XDG_CONFIG_HOME: folder,
    XDG_STATE_HOME: folder,
    ADMIN_TOKEN: undefined,
  };
  const dataDir = join(folder, 'data');
  const program = trainyard(['server', '--port', '0', '--data-dir', dataDir, '--json'], { env });
  const [line] = await program.waitForLine(/^\{"ready":true.*/);
  const { url } = JSON.parse(line) as { readonly url: string };
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const admin = adminClient(url, token);
  const watch = await watchEvents(url, token);
  onTestFinished(() => watch.close());
  const trainers = createTrainerRecord(join(folder, 'trainers.jsonl'));
  const stub = `'${process.execPath}' '${join(root, 'tests/support/stub-trainer.ts')}'`;
  return {
    ...program,
    url,
    env,
    admin,
    watch,
    ...createShortcuts(admin),
    /** Trainers end when this file exists. */
    gate: join(folder, 'enough'),
    stubTrainer: `${stub} --config {config_path} --record '${trainers.file}'`,
    trainers,
    set: async (input: CallInput<typeof settingsApi.change>) =>
      valueOf(await admin.call(settingsApi.change, input)),
    settings: async () => valueOf(await admin.call(settingsApi.get)),
    agents: (): readonly number[] =>
      processesOf(folder).filter(pid => / worker --config /.test(` ${argvOf(pid)} `)),
  };
}

type Server = Awaited<ReturnType<typeof openServer>>;

const trainerOf = ({ trainers }: Server, id: JobId): Promise<number> =>
  trainers.waitFor(`a trainer of ${id}`, record => record.runs(id)[0]?.pid);

test(
  "runs the sample training on the server's machine right after the local worker is enabled",
  async () => {
    const server = await openServer();
    expect((await server.settings()).local_worker).toMatchObject({ enabled: false, has_sample: true });
    const sample = { ...sampleTraining, config: { ...sampleTraining.config, epochs: 1 } };
    const refused = await server.admin.call(queueApi.submit, { body: { ...sample, target: 'local' } });
    expect(refused).toMatchObject({ failure: { problem: { code: 'target_unavailable' } } });

    await server.set({ body: { local_worker: { enabled: true } } });
    const id = await server.submit({ ...sample, target: 'local' });
    const job = await server.watch.jobEnd(id);
    expect(job).toMatchObject({ status: 'completed', config_name: 'digits-quick', attempt: 1 });
    expect(job.progress?.metrics?.['accuracy']).toBeGreaterThan(0.9);
  },
  testLimitMs,
);

test(
  'stops a disabled local worker only after its job, and keeps a worker that is enabled again before that',
  async () => {
    const server = await openServer();
    await server.set({ body: { local_worker: { enabled: true, trainer: server.stubTrainer } } });
    const id = await server.submit({ config: { until: server.gate }, target: 'local' });
    const trainer = await trainerOf(server, id);
    await server.watch.job(id, 'running');
    const disableLocalWorker = { body: { local_worker: { enabled: false } } };
    expect((await server.set(disableLocalWorker)).local_worker).toMatchObject({
      enabled: false,
      state: 'leaving',
    });
    await server.waitForLine(/Leaving when the job is done/);
    expect(isAlive(trainer)).toBe(true);

    expect((await server.set({ body: { local_worker: { enabled: true } } })).local_worker.state).toBe('on');
    await server.waitForLine(new RegExp(`Job ${id} goes on: .*\\(pid ${trainer}\\)`));

    await server.set(disableLocalWorker);
    await eventually(
      'the second line about leaving',
      () => server.lines.filter(line => line.includes('Leaving when')).length > 1,
    );
    writeFileSync(server.gate, '');
    expect(await server.watch.jobEnd(id)).toMatchObject({ status: 'completed', attempt: 1 });
    await eventually('the end of the agent', () => server.agents().length === 0);
    await eventually(
      'the end of the local worker in the log of the server',
      () => server.lines.filter(line => line.includes('local_worker.ended')).length > 1,
    );
    expect((await server.settings()).local_worker.state).toBe('off');
    expect(server.trainers.runs(id)).toHaveLength(1);
  },
  testLimitMs,
);

test(
  'continues a remote training while sharing is off, and reconnects its worker afterwards',
  async () => {
    const server = await openServer();
    const networkSetting = { body: { host: '127.0.0.2' } };
    await server.set(networkSetting);
    const url = `http://127.0.0.2:${new URL(server.url).port}`;
    const rig = await server.createWorker({ name: 'rig-1' });
    const agent = trainyard(
      [
        'worker',
        '--orchestrator-url',
        url,
        '--name',
        'rig-1',
        '--persistent',
        '--trainer',
        server.stubTrainer,
      ],
      { env: { ...server.env, SIMPLETUNER_WORKER_TOKEN: rig.token } },
    );
    const id = await server.submit({ config: { until: server.gate } });
    const trainer = await trainerOf(server, id);
    await server.watch.job(id, 'running');

    const seqBeforeChange = server.watch.seen.at(-1)?.seq ?? 0;
    expect((await server.set({ body: { shared: false } })).network.listening).toEqual([server.url]);
    await agent.waitForLine(/Connection refused/);
    expect(isAlive(trainer)).toBe(true);
    await server.set(networkSetting);
    writeFileSync(server.gate, '');
    expect(await server.watch.jobEnd(id)).toMatchObject({
      status: 'completed',
      attempt: 1,
      worker_id: rig.id,
    });
    expect(server.trainers.runs(id)).toHaveLength(1);
    // The worker may reconnect before or after the end of its job, so wait for the event of the connection.
    await server.watch.until('the new connection of the worker', event =>
      event.kind === 'worker' && event.seq > seqBeforeChange && event.type === 'worker.connected'
        ? event
        : null,
    );
    const { workers } = valueOf(await server.admin.call(workersApi.list));
    expect(workers).toMatchObject([{ name: 'rig-1', status: 'idle' }]);
  },
  testLimitMs,
);
