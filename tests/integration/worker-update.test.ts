import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { createBuilder } from 'vite';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import type { UiEvent, WorkerEventType } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { logsApi } from '../../protocol/logs-api.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { version } from '../../protocol/version.ts';
import { workerUpdatesApi } from '../../protocol/worker-updates-api.ts';
import { type Program, root, startProgram, temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { endTrainings } from '../support/trainings.ts';

const typeOf = (event: UiEvent): string => ('type' in event ? event.type : event.kind);

const oldVersion = '0.0.1';
const name = 'trainyard-worker.mjs';

/** Real workers, installed as one file, and a real server that has a newer version of it. */
describe('an update of a worker from the server', () => {
  let built: string;
  let bundle: string;
  beforeAll(async () => {
    built = temporaryFolder();
    const environments = { agent: { build: { outDir: built } } };
    const builder = await createBuilder({ root, logLevel: 'error', environments });
    const { agent } = builder.environments;
    if (agent === undefined) throw new Error('vite.config.ts builds no agent');
    await builder.build(agent);
    bundle = readFileSync(join(built, name), 'utf8');
  }, 60_000);

  const withVersion = (text: string, newVersion: string): string => {
    const changed = text.replace(`= "${version}";`, `= "${newVersion}";`);
    if (changed === text) throw new Error('the bundle does not contain its version');
    return changed;
  };

  /** A server that distributes this program. */
  async function openServer(program = bundle, more = {}): Promise<TestServer> {
    const workerPrograms = temporaryFolder();
    writeFileSync(join(workerPrograms, name), program);
    const server = await startTestServer({ workerPrograms, ...more });
    let isClosed = false;
    const close = async (): Promise<void> => {
      if (!isClosed) await server.close();
      isClosed = true;
    };
    onTestFinished(close);
    return { ...server, close };
  }

  interface Rig {
    readonly id: WorkerId;
    readonly file: string;
    readonly program: Program;
    /** Starts it as a service manager does after a crash. */
    start(args?: readonly string[]): Program;
    view(): Promise<WorkerView>;
  }

  const withoutUpdates = (text: string): string => {
    const changed = text.replace('program: serving.program.reported', 'program: null');
    if (changed === text) throw new Error('the bundle does not report its program');
    return changed;
  };

  /** Prints its version, and exits when it has to work. */
  const brokenAtStart = (text: string): string =>
    text.replace(
      /^(#!.*\n)?/,
      "$1if (process.argv.includes('--trial')) { process.stderr.write('it is broken\\n'); process.exit(9); }\n",
    );

  interface Front {
    readonly url: string;
  }

  /** A proxy in front of the server, which can answer the download of the program itself. */
  async function openFront(
    server: TestServer,
    { onDownload }: { readonly onDownload: (response: ServerResponse, forward: () => void) => void },
  ): Promise<Front> {
    const front = createServer((request, response) => {
      const forward = (): void => {
        const { pathname, search } = new URL(request.url ?? '/', server.url);
        const { host: _host, ...headers } = request.headers;
        const upstream = httpRequest(
          `${server.url}${pathname}${search}`,
          { method: request.method, headers },
          answer => {
            response.writeHead(answer.statusCode ?? 500, answer.headers);
            answer.pipe(response);
          },
        );
        upstream.on('error', () => response.destroy());
        response.on('close', () => upstream.destroy());
        request.pipe(upstream);
      };
      if (request.url === `/agent/${name}`) onDownload(response, forward);
      else forward();
    });
    await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      front.closeAllConnections();
      front.close();
    });
    const address = front.address();
    return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}` };
  }

  const unchanged = (text: string): string => text;

  async function openRig(
    server: TestServer,
    rigName = 'rig-1',
    args: readonly string[] = [],
    url = server.url,
    change: (text: string) => string = unchanged,
  ): Promise<Rig> {
    const home = temporaryFolder();
    const file = join(home, name);
    const changed = change(withVersion(bundle, oldVersion));
    writeFileSync(file, changed);
    const { id, token } = await server.createWorker({ name: rigName });
    onTestFinished(() => endTrainings(home));
    const start = (more = args): Program => {
      const program = startProgram(
        [process.execPath, file, '--orchestrator-url', url, '--name', rigName, '--persistent', ...more],
        { cwd: home, env: { XDG_STATE_HOME: home, SIMPLETUNER_WORKER_TOKEN: token } },
      );
      onTestFinished(() => program.kill('SIGKILL'));
      return program;
    };
    const program = start();
    await server.watch.worker(id, 'idle');
    const view = async (): Promise<WorkerView> =>
      valueOf(await server.admin.call(workersApi.get, { params: { id } }));
    return { id, file, program, start, view };
  }

  const event = (server: TestServer, type: WorkerEventType, id?: WorkerId) =>
    server.watch.until(type, found =>
      found.kind === 'worker' && found.type === type && (id === undefined || found.worker_id === id)
        ? found
        : null,
    );

  const untilIdle = async (server: TestServer, { id }: Rig): Promise<void> => {
    const { as_of_seq: after } = valueOf(await server.admin.call(workersApi.list));
    const { workers } = valueOf(await server.admin.call(workersApi.list));
    if (workers.some(worker => worker.id === id && worker.status === 'idle')) return;
    await server.watch.until('idle again', found =>
      found.seq > after &&
      found.kind === 'worker' &&
      found.worker_id === id &&
      found.worker?.status === 'idle'
        ? found
        : null,
    );
  };

  /** The steps that the log of a job has, in its order. */
  async function stepsIn(server: TestServer, job: JobId): Promise<readonly number[]> {
    const { lines } = valueOf(await server.admin.call(logsApi.read, { params: { id: job }, query: {} }));
    return lines.flatMap(({ text }) => {
      const [, step] = /"step":(\d+)/.exec(text) ?? [];
      return step === undefined ? [] : [Number(step)];
    });
  }

  const request = async (server: TestServer, when: 'idle' | 'now', ...rigs: readonly Rig[]) =>
    valueOf(
      await server.admin.call(workerUpdatesApi.request, {
        body: { workers: rigs.map(({ id }) => id), when },
      }),
    ).workers;

  test('installs the new program while the worker is idle, and keeps the old one', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    expect(await rig.view()).toMatchObject({ update: { available: true, blocked: null, order: null } });
    expect(await request(server, 'idle', rig)).toMatchObject([{ name: 'rig-1', accepted: true }]);
    await event(server, 'worker.update_done');
    expect(await rig.view()).toMatchObject({
      agent_version: version,
      update: { available: false, blocked: 'current', order: null },
    });
    expect(readFileSync(rig.file, 'utf8')).toBe(bundle);
    expect(readFileSync(`${rig.file}.previous`, 'utf8')).toContain(oldVersion);
    expect(readdirSync(dirname(rig.file)).filter(each => each.startsWith('.trainyard'))).toEqual([]);
    expect(server.watch.seen.map(typeOf)).not.toContain('worker.offline');
  });

  test('continues a running job in the same attempt, without a lost line of its log', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 8 } });
    await server.watch.job(job, 'running');
    await request(server, 'now', rig);
    await event(server, 'worker.update_done');
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(await rig.view()).toMatchObject({ agent_version: version });
    const allSteps = Array.from({ length: 80 }, (_, index) => index + 1);
    // The worker sends the last lines after its final report.
    await vi.waitFor(async () => expect(await stepsIn(server, job)).toEqual(allSteps), {
      timeout: 10_000,
      interval: 100,
    });
  });

  test('waits for the end of the job, and dispatches no other job to the worker before the update', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 2 } });
    const secondJob = await server.submit({ config: { trainer: 'selftest', seconds: 1 } });
    await server.watch.job(job, 'running');
    await request(server, 'idle', rig);
    await server.watch.jobEnd(secondJob);
    const eventNames = server.watch.seen.map(
      found => `${typeOf(found)} ${'job_id' in found ? found.job_id : ''}`,
    );
    const [ended, jobEnd, next] = [
      `job.completed ${job}`,
      'worker.update_done ',
      `job.dispatched ${secondJob}`,
    ].map(each => eventNames.indexOf(each));
    expect(ended).toBeGreaterThan(-1);
    expect(jobEnd).toBeGreaterThan(ended ?? 0);
    expect(next).toBeGreaterThan(jobEnd ?? 0);
  });

  test('keeps the old program when the new one exits immediately, reports why, and stops the other updates', async () => {
    const server = await openServer(brokenAtStart(bundle));
    const first = await openRig(server, 'rig-1');
    const second = await openRig(server, 'rig-2');
    await request(server, 'idle', first, second);
    await event(server, 'worker.update_failed', first.id);
    await event(server, 'worker.update_stopped', second.id);
    expect((await first.view()).update?.order).toMatchObject({
      state: 'failed',
      reason: 'The new program exited with code 9 before it registered: it is broken',
    });
    expect((await second.view()).update?.order).toMatchObject({
      state: 'stopped',
      reason: 'The update of rig-1 failed',
    });
    await untilIdle(server, first);
    expect(await first.view()).toMatchObject({ agent_version: oldVersion, status: 'idle' });
    expect(readFileSync(first.file, 'utf8')).toContain(`= "${oldVersion}";`);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 1 } });
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  test('keeps the old program when the download does not have the announced hash', async () => {
    const server = await openServer();
    const front = await openFront(server, { onDownload: response => response.end('something else') });
    const rig = await openRig(server, 'rig-1', [], front.url);
    await request(server, 'idle', rig);
    await event(server, 'worker.update_failed');
    expect((await rig.view()).update?.order?.reason).toContain('does not match its SHA-256');
    expect(readFileSync(rig.file, 'utf8')).toContain(`= "${oldVersion}";`);
    expect(await rig.view()).toMatchObject({ status: 'idle', agent_version: oldVersion });
  });

  test('starts the update again after a kill -9 in the middle of the download', async () => {
    const server = await openServer();
    let downloads = 0;
    const front = await openFront(server, {
      onDownload(response, forward) {
        downloads += 1;
        if (downloads > 1) return forward();
        response.write(bundle.slice(0, 1_000));
        rig.program.kill('SIGKILL');
      },
    });
    const rig = await openRig(server, 'rig-1', [], front.url);
    await request(server, 'idle', rig);
    await rig.program.exited;
    rig.start();
    await event(server, 'worker.update_done');
    expect(readFileSync(rig.file, 'utf8')).toBe(bundle);
    expect(readdirSync(dirname(rig.file)).filter(each => each.startsWith('.trainyard'))).toEqual([]);
  });

  test('finishes the update after a kill -9 between the installation and the restart, and keeps the job', async () => {
    const server = await openServer();
    const rig = await openRig(server);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 8 } });
    await server.watch.job(job, 'running');
    await request(server, 'now', rig);
    await rig.program.waitForLine(/^Installed version/);
    rig.program.kill('SIGKILL');
    await rig.program.exited;
    rig.start();
    await event(server, 'worker.update_done');
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(await rig.view()).toMatchObject({ agent_version: version });
  });

  test('finishes the update after a restart of the server in the middle of it', async () => {
    const dataDir = temporaryFolder();
    const first = await openServer(bundle, { dataDir });
    const rig = await openRig(first);
    await request(first, 'idle', rig);
    await event(first, 'worker.update_started');
    const { port } = new URL(first.url);
    await first.close();
    const second = await openServer(bundle, { dataDir, port: Number(port) });
    await vi.waitFor(
      async () => {
        const { workers } = valueOf(await second.admin.call(workersApi.list));
        expect(workers).toMatchObject([{ agent_version: version, update: { order: null } }]);
      },
      { interval: 100, timeout: 25_000 },
    );
    expect(readFileSync(rig.file, 'utf8')).toBe(bundle);
  });

  test('refuses to update a worker that is too old, forbids updates or is current', async () => {
    const server = await openServer();
    const tooOld = await openRig(server, 'rig-1', [], server.url, withoutUpdates);
    const forbidding = await openRig(server, 'rig-2', ['--no-remote-update']);
    const current = await openRig(server, 'rig-3', [], server.url, () => bundle);
    const answer = valueOf(
      await server.admin.call(workerUpdatesApi.request, {
        body: { workers: [tooOld.id, forbidding.id, current.id] },
      }),
    );
    expect(answer.workers.map(({ refusal }) => refusal)).toEqual(['too_old', 'off', 'current']);
    expect(answer.command).toMatch(/^trainyard-worker update --orchestrator-url .* --sums [0-9a-f]{64}$/);
    expect((await tooOld.view()).update).toMatchObject({ available: true, blocked: 'too_old' });
    expect((await forbidding.view()).update).toMatchObject({ available: true, blocked: 'off' });
  });
});
