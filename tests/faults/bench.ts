import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminCalls, createAdminCalls } from '../support/admin-calls.ts';
import { type ChaosProxy, startChaosProxy } from '../support/chaos-proxy.ts';
import { argvOf, killProcessesOf, ownerVariable, processesOf, signal } from '../support/own-processes.ts';
import { startStreamRecord, type StreamRecord } from '../support/stream-record.ts';
import { createTrainerRecord, type StubConfig, type TrainerRecord } from '../support/trainer-record.ts';
import { type AgentOptions, createRig, type Rig } from './bench-rig.ts';
import { type BenchServer, createBenchServer, stablePort } from './bench-server.ts';

export type { Rig } from './bench-rig.ts';

export interface BenchJob {
  readonly id: string;
  /** Lets the trainer with this pid end; without a pid, the trainers of all attempts. */
  finish(pid?: number): void;
}

/** A small fleet of real processes, with records of its events, calls and trainers. */
export interface Bench {
  readonly folder: string;
  readonly server: BenchServer;
  /** Makes calls as an admin, and records created jobs and workers for the invariants. */
  readonly admin: AdminCalls;
  readonly events: StreamRecord;
  readonly trainers: TrainerRecord;
  readonly rigs: readonly Rig[];
  /** Environment variables of all programs of the fleet. */
  readonly env: Readonly<Record<string, string>>;
  /** Creates a worker, and starts its agent. Resolves when the worker is ready for jobs. */
  rig(name: string, options?: AgentOptions): Promise<Rig>;
  /** Creates a worker without an agent. */
  rigWithoutAgent(name: string): Promise<Rig>;
  /** Creates a proxy that closes with the bench. */
  proxy(): Promise<ChaosProxy>;
  /**
   * Submits a job. Its trainer runs until `finish`, unless the config says otherwise. `on`: the rig that must run it.
   */
  submit(config?: StubConfig, more?: SubmitOptions): Promise<BenchJob>;
  /** Records a job that was accepted by a call outside `submit`. */
  recordAccepted(id: string): void;
  /** Resolves with the pid of the job's trainer after its first sign of life. */
  untilTrainerRuns(job: BenchJob): Promise<number>;
  /**
   * Rotates the token of a worker. From the answer on, the old token must be invalid. No agent receives the new one.
   */
  rotate(rig: Rig, body?: object): Promise<string>;
  /** Allows two live trainers of this job, because its worker is unreachable for longer than the takeover time. */
  allowOverlap(job: BenchJob): void;
  /** Registers how to disconnect a client that is no process of the fleet. It is called once. */
  onDisconnect(leave: () => void): void;
  /** Disconnects all clients at once, without their goodbyes. */
  disconnectAll(): void;
  readonly notes: BenchNotes;
  close(): Promise<void>;
}

/** Facts about a scenario that the invariants need. */
export interface BenchNotes {
  readonly accepted: readonly string[];
  readonly overlapping: ReadonlySet<string>;
  /** Secrets that must not leak, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly oldTokens: readonly { readonly workerId: string; readonly token: string }[];
  /** A secret value in the config of each job. Only the job's trainer may read it. */
  readonly canary: string;
  /** The arguments of all processes that were seen, by pid. */
  readonly argv: ReadonlyMap<number, string>;
  /** Records the arguments of all current processes. */
  noteArgv(): void;
}

export interface SubmitOptions {
  readonly on?: Rig;
  readonly [field: string]: unknown;
}

export async function openBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-faults-'));
  const env = { [ownerVariable]: folder, NODE_COMPILE_CACHE: join(tmpdir(), 'compile-cache') };
  const server = createBenchServer({ dataDir: join(folder, 'data'), port: await stablePort(), env });
  const notes = {
    accepted: [] as string[],
    overlapping: new Set<string>(),
    secrets: new Map<string, string>(),
    oldTokens: [] as { workerId: string; token: string }[],
    canary: `canary-${randomBytes(12).toString('hex')}`,
    argv: new Map<number, string>(),
    noteArgv(): void {
      for (const pid of processesOf(folder)) notes.argv.set(pid, argvOf(pid));
    },
  };
  const admin = noting(
    createAdminCalls(
      () => server.url,
      () => server.adminToken,
    ),
    notes,
  );
  const started = (): string | null => (server.lines().length === 0 ? null : server.url);
  const events = startStreamRecord({ url: started, token: () => server.adminToken });
  const trainers = createTrainerRecord(join(folder, 'trainers.jsonl'));
  const rigs: Rig[] = [];
  const proxies: ChaosProxy[] = [];
  const disconnects: (() => void)[] = [];
  mkdirSync(server.dataDir, { mode: 0o700 });

  const proxy = async (): Promise<ChaosProxy> => {
    const opened = await startChaosProxy(() => server.url);
    proxies.push(opened);
    return opened;
  };
  const rigWithoutAgent = async (name: string): Promise<Rig> => {
    const created = await admin.createWorker(name, { labels: { rig: name } });
    const rig = createRig({
      ...created,
      name,
      folder,
      env,
      trainerRecord: trainers.file,
      proxy: await proxy(),
    });
    rigs.push(rig);
    return rig;
  };
  const disconnectAll = (): void => {
    for (const leave of disconnects.splice(0)) leave();
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
    notes,
    proxy,
    rigWithoutAgent,
    async rig(name, options) {
      const rig = await rigWithoutAgent(name);
      rig.start(options);
      await events.worker(rig.id, 'worker.connected');
      return rig;
    },
    async submit(config = {}, { on, ...more } = {}) {
      const go = join(folder, `go-${notes.accepted.length}`);
      const until = config.run_ms === undefined && config.until === undefined ? { until: go } : {};
      const labels = on === undefined ? {} : { worker_labels: { rig: on.name } };
      const id = await admin.submit({
        config: { ...until, ...config, canary: notes.canary },
        ...labels,
        ...more,
      });
      const end = config.until ?? go;
      return { id, finish: pid => writeFileSync(pid === undefined ? end : `${end}.${pid}`, '') };
    },
    recordAccepted: id => void notes.accepted.push(id),
    async untilTrainerRuns({ id }) {
      const pid = await trainers.waitFor(
        `a trainer of ${id}`,
        record => record.runs(id).find(({ lines }) => lines.length > 1)?.pid,
      );
      notes.noteArgv();
      return pid;
    },
    async rotate(rig, body) {
      const answer = await admin.must('POST', `/api/admin/workers/${rig.id}/token`, body);
      const { token } = answer as { readonly token: string };
      notes.oldTokens.push({ workerId: rig.id, token: rig.token });
      notes.secrets.set(`a rotated token of ${rig.name}`, token);
      Object.assign(rig, { token });
      return token;
    },
    allowOverlap: ({ id }) => void notes.overlapping.add(id),
    onDisconnect: leave => void disconnects.push(leave),
    disconnectAll,
    async close() {
      disconnectAll();
      events.close();
      killProcessesOf(folder);
      await Promise.all(proxies.map(each => each.close()));
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

interface WritableNotes {
  readonly accepted: string[];
  readonly secrets: Map<string, string>;
}

const noting = (calls: AdminCalls, notes: WritableNotes): AdminCalls => ({
  ...calls,
  async createWorker(name, more) {
    const created = await calls.createWorker(name, more);
    notes.secrets.set(`the token of ${name}`, created.token);
    return created;
  },
  async submit(body) {
    const id = await calls.submit(body);
    notes.accepted.push(id);
    return id;
  },
});
