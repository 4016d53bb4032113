import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerProcess, createServerProcess, reservePort } from '../faults/server-process.ts';
import { createControlledFailpoint } from '../faults/controlled-failpoint.ts';
import { killProcessesOf, ownerVariable } from '../support/own-processes.ts';
import { startStreamRecord, type StreamRecord } from '../support/stream-record.ts';
import { type Client, createClient } from './client.ts';
import { readWorkers } from './evidence.ts';
import {
  type ClientLine,
  type ExitLine,
  type FaultLine,
  type FollowLine,
  type Journal,
  machineNow,
  openJournal,
  type TrainerLine,
} from './journal.ts';
import { openLink } from './link.ts';
import { pauseFor } from './pause.ts';
import { rigCount } from './plan.ts';
import { plantEnvironment, type ChaosPlant } from './plants.ts';
import { openRig, type Rig } from './rig.ts';

export interface Journals {
  readonly trainers: Journal<TrainerLine>;
  readonly client: Journal<ClientLine>;
  readonly follow: Journal<FollowLine>;
  readonly faults: Journal<FaultLine>;
  readonly exits: Journal<ExitLine>;
}

/** One orchestrator and its rigs as real processes, and the journals of the run. */
export interface Fleet {
  readonly folder: string;
  readonly server: ServerProcess;
  readonly rigs: readonly Rig[];
  readonly client: Client;
  readonly events: StreamRecord;
  readonly journals: Journals;
  /** The planted bug of the run; null for the unchanged product. */
  readonly plant: ChaosPlant | null;
  /** Replaced tokens, all of which the orchestrator must refuse. */
  readonly oldTokens: string[];
  /** Aborted when the run ends. */
  readonly ended: AbortSignal;
  /** Starts the orchestrator. Resolves when it accepts calls. */
  start(): Promise<void>;
  /** Stops the orchestrator and waits until it has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Sends an order to the failpoint in the orchestrator: `clock MS`, `disk full` or `disk free`. */
  sendOrder(order: string): Promise<void>;
  /** Stops all remaining processes. */
  close(): Promise<void>;
}

const startLimitMs = 90_000;
const pollMs = 500;

/** Waits until all workers are connected and idle. Returns false on a timeout or at the end of the run. */
export async function waitUntilIdle(
  server: ServerProcess,
  ended: AbortSignal,
  limitMs: number,
): Promise<boolean> {
  const deadline = machineNow() + limitMs;
  while (machineNow() < deadline && !ended.aborted) {
    const workers = await readWorkers(server);
    if (workers.every(({ status }) => status === 'idle')) return true;
    await pauseFor(pollMs, ended);
  }
  return false;
}

export async function openFleet(plant: ChaosPlant | null): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-chaos-'));
  const env = {
    [ownerVariable]: folder,
    NODE_COMPILE_CACHE: join(tmpdir(), 'compile-cache'),
    ...plantEnvironment(plant),
  };
  const port = await reservePort();
  const server = createServerProcess({ dataDir: join(folder, 'data'), port, env });
  const ended = new AbortController();
  const journals: Journals = {
    trainers: openJournal(join(folder, 'trainers.jsonl')),
    client: openJournal(join(folder, 'client.jsonl')),
    follow: openJournal(join(folder, 'follow.jsonl')),
    faults: openJournal(join(folder, 'faults.jsonl')),
    exits: openJournal(join(folder, 'exits.jsonl')),
  };
  mkdirSync(server.dataDir, { mode: 0o700 });
  const machine = createControlledFailpoint(
    { folder },
    new URL('../support/failpoint-machine.ts', import.meta.url),
  );
  /** The reason why the run expects the next end of the orchestrator; null while it expects none. */
  let expectedReason: string | null = null;
  let orderCount = 0;
  let lastOrder: Promise<unknown> = Promise.resolve();

  const start = async (): Promise<void> => {
    const program = server.launch({ failpoint: machine.failpoint });
    void program.exited.then(({ code, signal }) => {
      journals.exits.write({
        at: machineNow(),
        who: 'server',
        pid: program.pid,
        code,
        signal,
        expected: ended.signal.aborted ? 'the run is over' : expectedReason,
      });
      expectedReason = null;
    });
    await program.waitForLine(/^\{"ready":true/);
    server.measureBaseline();
  };
  await start();
  const client = createClient(server, journals.client, ended.signal);
  const rigs = await Promise.all(
    Array.from({ length: rigCount }, async (_, index) => {
      const name = `rig-${index + 1}`;
      const isPersistent = index < rigCount - 1;
      const worker = await client.admin.createWorker(name, {
        worker_type: isPersistent ? 'persistent' : 'ephemeral',
      });
      const link = await openLink(port);
      const { exits, trainers } = journals;
      return openRig({
        ...worker,
        name,
        isPersistent,
        link,
        folder,
        trainerJournal: trainers.file,
        exits,
        env,
      });
    }),
  );
  const events = startStreamRecord({ url: () => server.url, token: () => server.adminToken });
  if (!(await waitUntilIdle(server, ended.signal, startLimitMs)))
    throw new Error('the workers did not connect');
  return {
    folder,
    server,
    rigs,
    client,
    events,
    journals,
    plant,
    oldTokens: [],
    ended: ended.signal,
    start,
    async end(signal) {
      expectedReason = `${signal} of the run`;
      server.kill(signal);
      await server.ended();
    },
    sendOrder(order) {
      orderCount += 1;
      // The number makes the log line that confirms an order unique.
      const text = `${order} #${orderCount}`;
      // Send one order at a time. A stopped server would later read only the newest order, and the callers of earlier orders
      // would wait forever.
      const confirmed = lastOrder.then(() => machine.sendOrder(text, server));
      lastOrder = confirmed.catch(() => {});
      return confirmed;
    },
    async close() {
      ended.abort();
      events.close();
      killProcessesOf(folder);
      await Promise.all(rigs.map(rig => rig.link.close()));
    },
  };
}
