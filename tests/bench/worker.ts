/**
 * Measures the worker as a single executable, downloaded from the orchestrator as on a rig. Reports the medians of two figures.
 * The first is the time from the start to the registration, including the exchange of a join token for a worker token. The second
 * is the memory two seconds later.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildWorker } from '../../dev/worker/build.ts';
import { memoryOf } from '../support/own-processes.ts';
import { joinTokenOf, startTestServer, type TestServer } from '../support/server.ts';
import { type Line, median } from './figures.ts';
import { createBenchFolder, root } from './program.ts';

const settleMs = 2_000;

interface Figures {
  readonly registeredMs: number;
  readonly residentMib: number;
}

async function measure(program: string, folder: string, server: TestServer): Promise<Figures> {
  const token = await joinTokenOf(server);
  const startedAt = performance.now();
  const child = spawn(
    program,
    ['--orchestrator-url', server.url, '--persistent', '--state-dir', mkdtempSync(join(folder, 'state-'))],
    {
      env: { PATH: '/usr/bin:/bin', SIMPLETUNER_WORKER_TOKEN: token },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()));
  for await (const line of createInterface({ input: child.stderr })) if (line.startsWith('Connected')) break;
  const registeredMs = performance.now() - startedAt;
  await new Promise(resolve => setTimeout(resolve, settleMs));
  const residentMib = memoryOf(child.pid ?? 0) / 1_048_576;
  child.kill('SIGTERM');
  await ended;
  return { registeredMs, residentMib };
}

export async function measureWorker(rounds: number): Promise<readonly Line[]> {
  const folder = createBenchFolder();
  const { executables } = await buildWorker({ root, folder });
  if (executables.length === 0) throw new Error('No Node for Linux x64 is available to build the worker.');
  const server = await startTestServer({ workerPrograms: folder });
  const program = join(folder, 'downloaded');
  const response = await fetch(`${server.url}/agent/trainyard-worker-linux-x64`);
  writeFileSync(program, await response.bytes());
  chmodSync(program, 0o755);
  const results: Figures[] = [];
  for (let round = 0; round < rounds; round += 1) results.push(await measure(program, folder, server));
  await server.close();
  rmSync(folder, { recursive: true });
  const medianOf = (figure: keyof Figures): number => median(results.map(result => result[figure]));
  return [
    { what: 'worker: start to registration', figure: medianOf('registeredMs'), unit: 'ms' },
    { what: 'worker: resident memory when idle', figure: medianOf('residentMib'), unit: 'MiB', atMost: 60 },
  ];
}
