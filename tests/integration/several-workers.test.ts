/** A job that two workers of this machine train together, with real agents and trainers that connect to each other. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { logsApi } from '../../protocol/logs-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { startWorker, temporaryFolder } from '../support/processes.ts';
import { startTestServer, valueOf } from '../support/server.ts';

/**
 * Script of the trainer on each worker. The trainer on the first worker waits until the second trainer connects. Each
 * trainer then trains until the file `end-RANK` appears, and exits with the code in the file.
 */
const trainer = `
  const net = require('node:net');
  const { appendFileSync, existsSync, readFileSync } = require('node:fs');
  const { join } = require('node:path');
  const { NODE_RANK, NNODES, RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT } = process.env;
  const rendezvous = { host: MASTER_ADDR, port: Number(MASTER_PORT) };
  const note = what => appendFileSync(join(__dirname, 'notes'), what + ' ' + NODE_RANK + '\\n');
  const train = () => {
    note('trains');
    console.log('rank ' + RANK + ' of ' + WORLD_SIZE);
    setInterval(() => {
      const end = join(__dirname, 'end-' + NODE_RANK);
      if (existsSync(end)) { note('ends'); process.exit(Number(readFileSync(end, 'utf8'))); }
    }, 50);
  };
  process.on('SIGTERM', () => { note('stopped'); process.exit(143); });
  if (NODE_RANK === '0') net.createServer(socket => { socket.on('error', () => {}); socket.write('go'); train(); }).listen(rendezvous);
  else {
    const connect = () => {
      const socket = net.connect(rendezvous);
      socket.on('error', () => setTimeout(connect, 100));
      socket.once('data', train);
    };
    connect();
  }
`;

async function startFleet() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const folder = temporaryFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'trainer.cjs'), trainer);
  const command = `'${process.execPath}' '${join(folder, 'trainer.cjs')}' {config_path} {output_dir}`;
  const start = (name: string, token: string) =>
    startWorker({
      url: server.url,
      token,
      stateHome: join(folder, name),
      args: ['--name', name, '--persistent', '--verbose', '--trainer', command],
    });
  const tokens = await Promise.all(
    ['rig-1', 'rig-2'].map(async name => {
      const { id, token } = await server.createWorker({ name });
      return { name, id, token };
    }),
  );
  const workers = tokens.map(({ name, id, token }) => ({
    id,
    restart: () => start(name, token),
    program: start(name, token),
  }));
  for (const { program } of workers) await program.waitForLine(/^Connected/);
  const job = await server.submit({ config: { steps: 1 }, num_nodes: 2, max_retries: 0 });
  const notes = (): readonly string[] =>
    existsSync(join(folder, 'notes')) ? readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n') : [];
  const waitUntil = (assertion: () => void) => vi.waitFor(assertion, { interval: 50, timeout: 20_000 });
  await waitUntil(() => expect(notes().toSorted()).toEqual(['trains 0', 'trains 1']));
  const readJob = async () => valueOf(await server.admin.call(queueApi.get, { params: { id: job } }));
  const [attempt] = (await readJob()).attempts;
  const workerWithRank = (rank: number) => {
    const id = attempt?.nodes.find(node => node.rank === rank)?.worker_id;
    const worker = workers.find(each => each.id === id);
    if (worker === undefined) throw new Error(`no worker has rank ${rank}`);
    return worker;
  };
  return {
    server,
    job,
    notes,
    readJob,
    waitUntil,
    workerWithRank,
    end: (rank: number, code: number) => writeFileSync(join(folder, `end-${rank}`), String(code)),
  };
}

test('trains a job on two workers, and keeps only the log of the first worker', async () => {
  const { server, job, end, readJob } = await startFleet();
  end(1, 0);
  end(0, 0);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  expect((await readJob()).attempts).toMatchObject([{ nodes: [{ rank: 0 }, { rank: 1 }] }]);
  await vi.waitFor(
    async () => {
      const log = await server.admin.call(logsApi.read, { params: { id: job }, query: {} });
      expect(JSON.stringify(log)).toContain('rank 0 of 2');
      expect(JSON.stringify(log)).not.toContain('rank 1 of 2');
    },
    { interval: 100, timeout: 10_000 },
  );
}, 60_000);

test('fails a job on two workers and stops the first trainer when the second trainer fails', async () => {
  const { server, job, notes, end, waitUntil } = await startFleet();
  end(1, 7);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'failed' });
  await waitUntil(() => expect(notes()).toEqual(expect.arrayContaining(['ends 1', 'stopped 0'])));
}, 60_000);

test('continues a job when the agent of the second worker is killed and started again', async () => {
  const { server, job, notes, workerWithRank, end, waitUntil } = await startFleet();
  const second = workerWithRank(1);
  second.program.kill('SIGKILL');
  await second.program.exited;
  await second.restart().waitForLine(/^Job \S+ goes on/);
  end(1, 0);
  await waitUntil(() => expect(notes()).toContain('ends 1'));
  end(0, 0);
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  expect(notes().filter(note => note.startsWith('trains'))).toHaveLength(2);
}, 60_000);
