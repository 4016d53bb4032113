/** Real workers that are installed as one file with an old version number, and real servers that offer the current version. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createBuilder } from 'vite';
import { onTestFinished } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import type { UiEvent, WorkerEventType } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { logsApi } from '../../protocol/logs-api.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { version } from '../../protocol/version.ts';
import { workerUpdatesApi } from '../../protocol/worker-updates-api.ts';
import { type Program, root, startProgram, temporaryFolder } from './processes.ts';
import { startTestServer, type TestServer, valueOf } from './server.ts';
import { endTrainings } from './trainings.ts';

/** Returns the type of an event; its kind when the event has no type. */
export const typeOf = (event: UiEvent): string => ('type' in event ? event.type : event.kind);

export const oldVersion = '0.0.1';
const name = 'trainyard-worker.mjs';

/** Returns the folder with the worker's program. Builds it unless `npm run build` has just run. */
async function buildWorker(): Promise<string> {
  if (process.env['TRAINYARD_BUILT'] === '1') return join(root, 'dist/agent');
  const outDir = temporaryFolder();
  const environments = { agent: { build: { outDir } } };
  const builder = await createBuilder({ root, logLevel: 'error', environments });
  const { agent } = builder.environments;
  if (agent === undefined) throw new Error('vite.config.ts builds no agent');
  await builder.build(agent);
  return outDir;
}

export const bundle = readFileSync(join(await buildWorker(), name), 'utf8');

const withVersion = (text: string, newVersion: string): string => {
  const changed = text.replace(`= "${version}";`, `= "${newVersion}";`);
  if (changed === text) throw new Error('the bundle does not contain its version');
  return changed;
};

/** Starts a server that distributes this worker program. The server closes at the end of the test. */
export async function openServer(program = bundle, more = {}): Promise<TestServer> {
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

export interface Rig {
  readonly id: WorkerId;
  readonly file: string;
  readonly program: Program;
  /** Starts the installed worker again, as a service manager does after a crash. */
  start(args?: readonly string[]): Program;
  view(): Promise<WorkerView>;
}

/** Changes a worker program so that it reports no program to update, as workers did before remote updates existed. */
export const withoutUpdates = (text: string): string => {
  const changed = text.replace('program: serving.program.reported', 'program: null');
  if (changed === text) throw new Error('the bundle does not report its program');
  return changed;
};

/** Changes a worker program so that it exits with code 9 when an update tries it out (`--trial`). */
export const brokenAtStart = (text: string): string =>
  text.replace(
    /^(#!.*\n)?/,
    "$1if (process.argv.includes('--trial')) { process.stderr.write('it is broken\\n'); process.exit(9); }\n",
  );

interface Front {
  readonly url: string;
}

/** Opens a proxy in front of the server. `onDownload` answers downloads of the worker program, or forwards them. */
export async function openFront(
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

const keepText = (text: string): string => text;

/**
 * Installs the worker program with an old version number, and starts it. Resolves when the worker is idle. `change`: changes
 * the text of the installed program.
 */
export async function openRig(
  server: TestServer,
  rigName = 'rig-1',
  args: readonly string[] = [],
  url = server.url,
  change: (text: string) => string = keepText,
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

/** Waits for an event of this type, about any worker or only about the worker `id`. */
export const waitForEvent = (server: TestServer, type: WorkerEventType, id?: WorkerId) =>
  server.watch.until(type, found =>
    found.kind === 'worker' && found.type === type && (id === undefined || found.worker_id === id)
      ? found
      : null,
  );

/** Resolves when the worker is idle. */
export const untilIdle = async (server: TestServer, { id }: Rig): Promise<void> => {
  const { as_of_seq: after } = valueOf(await server.admin.call(workersApi.list));
  const { workers } = valueOf(await server.admin.call(workersApi.list));
  if (workers.some(worker => worker.id === id && worker.status === 'idle')) return;
  await server.watch.until('the worker to be idle', found =>
    found.seq > after && found.kind === 'worker' && found.worker_id === id && found.worker?.status === 'idle'
      ? found
      : null,
  );
};

/** Returns the steps in the log of a job, in order. */
export async function stepsIn(server: TestServer, job: JobId): Promise<readonly number[]> {
  const { lines } = valueOf(await server.admin.call(logsApi.read, { params: { id: job }, query: {} }));
  return lines.flatMap(({ text }) => {
    const [, step] = /"step":(\d+)/.exec(text) ?? [];
    return step === undefined ? [] : [Number(step)];
  });
}

/** Requests updates of these workers, immediately or when they are idle. Returns the server's answer for each worker. */
export const requestUpdate = async (server: TestServer, when: 'idle' | 'now', ...rigs: readonly Rig[]) =>
  valueOf(
    await server.admin.call(workerUpdatesApi.request, {
      body: { workers: rigs.map(({ id }) => id), when },
    }),
  ).workers;
