import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminCalls, createAdminCalls } from '../support/admin-calls.ts';
import { type ChaosProxy, startChaosProxy } from '../support/chaos-proxy.ts';
import { argvOf, killProcessesOf, ownerVariable, processesOf, signal } from '../support/own-processes.ts';
import { startStreamRecord, type StreamRecord } from '../support/stream-record.ts';
import { createTrainerRecord, type StubConfig, type TrainerRecord } from '../support/trainer-record.ts';
import { type AgentOptions, createRig, type Rig } from './rig.ts';
import { type ServerProcess, createServerProcess, reservePort } from './server-process.ts';

export type { Rig } from './rig.ts';

export interface FleetJob {
  readonly id: string;
  /** Ends the trainer with this pid; without a pid, the trainers of all attempts. */
  finish(pid?: number): void;
}

/** A small fleet of real processes, with records of its events, calls and trainers. */
export interface FaultFleet {
  readonly folder: string;
  readonly server: ServerProcess;
  /** Makes calls as an admin, and records created jobs and workers for the invariants. */
  readonly admin: AdminCalls;
  readonly events: StreamRecord;
  readonly trainers: TrainerRecord;
  readonly rigs: readonly Rig[];
  /** Environment variables of all programs of the fleet. */
  readonly env: Readonly<Record<string, string>>;
  /** Creates a worker, and starts its agent. Resolves when the worker is ready for jobs. */
  startRig(name: string, options?: AgentOptions): Promise<Rig>;
  /** Creates a worker without an agent. */
  createRig(name: string): Promise<Rig>;
  /** Creates a proxy that closes with the fleet. */
  openProxy(): Promise<ChaosProxy>;
  /** Submits a job. The trainer runs until `finish`, unless the config has `run_ms`. `on`: the rig that must run the job. */
  submit(config?: StubConfig, options?: SubmitOptions): Promise<FleetJob>;
  /** Records a job that the server accepted in a call other than `submit`. */
  recordAccepted(id: string): void;
  /** Resolves with the pid of the job's trainer after its first output. */
  waitForTrainer(job: FleetJob): Promise<number>;
  /**
   * Rotates the token of a worker and returns the new token, which no agent receives. An invariant then checks that the server
   * rejects the old token.
   */
  rotate(rig: Rig, body?: object): Promise<string>;
  /** Allows two live trainers of this job. For scenarios in which a worker is unreachable for longer than the takeover time. */
  allowOverlap(job: FleetJob): void;
  /** Registers a function that disconnects a client inside the test's process. `disconnectAll` calls it once. */
  onDisconnect(disconnect: () => void): void;
  /** Kills or disconnects all clients without an orderly goodbye to the server. */
  disconnectAll(): void;
  readonly records: FleetRecords;
  close(): Promise<void>;
}

/** Facts about a scenario that the invariants need. */
export interface FleetRecords {
  readonly accepted: readonly string[];
  readonly overlapping: ReadonlySet<string>;
  /** Secrets that must not leak, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly oldTokens: readonly { readonly workerId: string; readonly token: string }[];
  /** A secret value in the config of each job. Only the job's trainer may read it. */
  readonly canary: string;
  /** The arguments of the processes at each call of `recordArguments`, by pid. */
  readonly argv: ReadonlyMap<number, string>;
  /** Records the arguments of all current processes. */
  recordArguments(): void;
}

export interface SubmitOptions {
  readonly on?: Rig;
  readonly [field: string]: unknown;
}

export async function openFaultFleet(): Promise<FaultFleet> {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-faults-'));
  const env = { [ownerVariable]: folder, NODE_COMPILE_CACHE: join(tmpdir(), 'compile-cache') };
  const server = createServerProcess({ dataDir: join(folder, 'data'), port: await reservePort(), env });
  const records = {
    accepted: [] as string[],
    overlapping: new Set<string>(),
    secrets: new Map<string, string>(),
    oldTokens: [] as { workerId: string; token: string }[],
    canary: `canary-${randomBytes(12).toString('hex')}`,
    argv: new Map<number, string>(),
    recordArguments(): void {
      for (const pid of processesOf(folder)) records.argv.set(pid, argvOf(pid));
    },
  };
  const admin = withRecords(
    createAdminCalls(
      () => server.url,
      () => server.adminToken,
    ),
    records,
  );
  /** Returns the server's URL; null until the server has logged its first line. */
  const urlAfterStart = (): string | null => (server.lines().length === 0 ? null : server.url);
  const events = startStreamRecord({ url: urlAfterStart, token: () => server.adminToken });
  const trainers = createTrainerRecord(join(folder, 'trainers.jsonl'));
  const rigs: Rig[] = [];
  const proxies: ChaosProxy[] = [];
  const disconnects: (() => void)[] = [];
  mkdirSync(server.dataDir, { mode: 0o700 });

  const openProxy = async (): Promise<ChaosProxy> => {
    const proxy = await startChaosProxy(() => server.url);
    proxies.push(proxy);
    return proxy;
  };
  const createRigOfWorker = async (name: string): Promise<Rig> => {
    const worker = await admin.createWorker(name, { labels: { rig: name } });
    const rig = createRig({
      ...worker,
      name,
      folder,
      env,
      trainerRecord: trainers.file,
      proxy: await openProxy(),
    });
    rigs.push(rig);
    return rig;
  };
  const disconnectAll = (): void => {
    for (const disconnect of disconnects.splice(0)) disconnect();
    for (const pid of processesOf(folder)) if (!server.isOwn(pid)) signal(pid, 'SIGKILL');
  };
  return {
    folder,
    server,
    admin,
    events,
    trainers,
    rigs,
    env,
    records,
    openProxy,
    createRig: createRigOfWorker,
    async startRig(name, options) {
      const rig = await createRigOfWorker(name);
      rig.start(options);
      await events.worker(rig.id, 'worker.connected');
      return rig;
    },
    async submit(config = {}, { on, ...fields } = {}) {
      // The trainer ends when this file exists.
      const endFile = config.until ?? join(folder, `end-${records.accepted.length}`);
      const until = config.run_ms === undefined ? { until: endFile } : {};
      const labels = on === undefined ? {} : { worker_labels: { rig: on.name } };
      const id = await admin.submit({
        config: { ...until, ...config, canary: records.canary },
        ...labels,
        ...fields,
      });
      return { id, finish: pid => writeFileSync(pid === undefined ? endFile : `${endFile}.${pid}`, '') };
    },
    recordAccepted: id => void records.accepted.push(id),
    async waitForTrainer({ id }) {
      const pid = await trainers.waitFor(
        `a trainer of ${id}`,
        record => record.runs(id).find(({ lines }) => lines.length > 1)?.pid,
      );
      records.recordArguments();
      return pid;
    },
    async rotate(rig, body) {
      const response = await admin.must('POST', `/api/admin/workers/${rig.id}/token`, body);
      const { token } = response as { readonly token: string };
      records.oldTokens.push({ workerId: rig.id, token: rig.token });
      records.secrets.set(`a rotated token of ${rig.name}`, token);
      Object.assign(rig, { token });
      return token;
    },
    allowOverlap: ({ id }) => void records.overlapping.add(id),
    onDisconnect: disconnect => void disconnects.push(disconnect),
    disconnectAll,
    async close() {
      disconnectAll();
      events.close();
      killProcessesOf(folder);
      await Promise.all(proxies.map(proxy => proxy.close()));
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

interface WritableRecords {
  readonly accepted: string[];
  readonly secrets: Map<string, string>;
}

/** Wraps the calls: records the tokens of created workers and the ids of accepted jobs. */
const withRecords = (calls: AdminCalls, records: WritableRecords): AdminCalls => ({
  ...calls,
  async createWorker(name, fields) {
    const worker = await calls.createWorker(name, fields);
    records.secrets.set(`the token of ${name}`, worker.token);
    return worker;
  },
  async submit(body) {
    const id = await calls.submit(body);
    records.accepted.push(id);
    return id;
  },
});
