import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { until } from '../../unit/agent/guard-rig.ts';
import { killProcessesOf, ownerVariable } from '../own-processes.ts';
import { trainyard } from '../processes.ts';
import { reapAtEnd } from '../reaping.ts';
import { startTestServer, type TestServer, valueOf } from '../server.ts';
import { type Block, doesRun, textOf } from './blocks.ts';
import type { PageSession } from './page-session.ts';
import { createSampleHome, type SampleHome } from './sample-home.ts';

/** Documented addresses of a server on the reader's machine. */
const documented = /http:\/\/(?:127\.0\.0\.1|localhost):8001/g;

/** The compile cache of the test run. The environment of the blocks contains only the variables listed below. */
const compileCache = process.env['NODE_COMPILE_CACHE'];

export interface Fleet {
  readonly session: PageSession;
  close(): Promise<void>;
}

/** Starts a server for the blocks of a page, with the worker and the job that the blocks refer to. */
export async function openFleet(blocks: readonly Block[]): Promise<Fleet> {
  const sample = createSampleHome();
  const { home, work, bin, dataDir } = sample;
  const commands = blocks.filter(doesRun).map(textOf).join('\n');
  const endReaper = reapAtEnd(home);
  const server = await startTestServer({ dataDir, workerPrograms: sample.programs });
  const close = async (): Promise<void> => {
    killProcessesOf(home);
    await server.close();
    endReaper();
  };
  try {
    if (/rig-1|jobs |\/api\//.test(commands)) await startRig(server, sample, commands);
  } catch (cause) {
    await close();
    throw cause;
  }
  const env = {
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    LANG: 'C.UTF-8',
    NODE_COMPILE_CACHE: compileCache,
    [ownerVariable]: home,
  };
  return { session: { home, folder: work, env, addresses: [[documented, server.url]] }, close };
}

/** Starts a worker with the trainers of the page. The worker is named `rig-1`, or `rig-2` if the page itself creates `rig-1`. */
async function startRig(server: TestServer, sample: SampleHome, commands: string): Promise<void> {
  const { home, gpuBin, checkout } = sample;
  const name = /workers create rig-1/.test(commands) ? 'rig-2' : 'rig-1';
  const { id, token } = await server.createWorker({ name, labels: { gpu_type: 'a100' } });
  const hold = join(home, 'hold');
  const hasRequest = /jobs (?:save|sample)/.test(commands);
  // The stand-in trainer waits at the step in this file.
  if (hasRequest) writeFileSync(hold, '110');
  const others = ['ai-toolkit', 'kohya', 'onetrainer', 'diffusers'].filter(trainer =>
    commands.includes(trainer),
  );
  const trainers = [
    `simpletuner=${join(checkout, 'venv')}`,
    ...others.map(trainer => `${trainer}=${checkout}`),
  ];
  const args = ['--name', name, '--persistent', ...trainers.flatMap(trainer => ['--trainer', trainer])];
  trainyard(['worker', '--orchestrator-url', server.url, ...args], {
    env: {
      PATH: `${gpuBin}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      XDG_STATE_HOME: join(home, 'rig'),
      XDG_CONFIG_HOME: join(home, 'rig'),
      SIMPLETUNER_WORKER_TOKEN: token,
      STAND_IN_HOLD: hold,
      NODE_COMPILE_CACHE: compileCache,
      [ownerVariable]: home,
    },
  });
  await server.watch.worker(id, 'idle');
  if (/flowers/.test(commands)) await runFlowers(server, hasRequest);
}

/**
 * Runs a job with the config `flowers` until its last checkpoint is on the server. `hasRequest`: the page sends a request to the
 * running training. The training then stops before its end, and waits for that request.
 */
async function runFlowers(server: TestServer, hasRequest: boolean): Promise<void> {
  const id = await server.submit({ config_name: 'flowers' });
  if (!hasRequest) await server.watch.jobEnd(id);
  const last = hasRequest ? 'checkpoint-100' : 'checkpoint-150';
  await until(async () => {
    const { checkpoints } = valueOf(await server.admin.call(artifactsApi.checkpoints, { params: { id } }));
    return checkpoints.some(({ name, complete }) => complete && name === last) ? true : null;
  });
}
