import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compose } from '../../main/compose.ts';
import type { ComposeDeps } from '../../main/compose/deps.ts';
import type { ServerConfig } from '../../main/config.ts';
import { createLog } from '../../main/host/log.ts';
import type { Clock } from '../../main/orchestrator/ports/index.ts';
import { systemClock, systemIds } from '../../main/host/system.ts';
import { workersApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { type CallInput, type CallResult, type Client, createClient } from '../../protocol/client.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { newDatabaseFile } from './new-database.ts';
import { type Watch, watchEvents } from './watch.ts';

/** The default heartbeat timeout in ms. Short enough for tests, but long enough for a machine with two busy cores. */
const defaultTimeoutMs = 20_000;

export interface TestServer {
  readonly url: string;
  readonly adminToken: string;
  readonly dataDir: string;
  readonly admin: Client;
  readonly watch: Watch;
  /** All logged lines. */
  readonly log: readonly string[];
  createWorker(
    body: CallInput<typeof workersApi.create>['body'],
  ): Promise<{ readonly id: WorkerId; readonly token: string }>;
  submit(body: CallInput<typeof queueApi.submit>['body']): Promise<JobId>;
  /** Writes a config into the configs folder. */
  config(name: string, config: object): void;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly heartbeatTimeoutMs?: number;
  /** The data folder of an earlier server, which `close` does not remove. By default, a new folder that `close` removes. */
  readonly dataDir?: string;
  readonly port?: number;
  /** Settings that are command-line options of the product. */
  readonly config?: Partial<
    Pick<
      ServerConfig,
      | 'host'
      | 'allowHosts'
      | 'notifyAllow'
      | 'publicUrl'
      | 'trustedProxies'
      | 'isSecure'
      | 'certificateFiles'
      | 'localWorker'
      | 'auditRetentionDays'
      | 'fixedBy'
      | 'datasetsInAll'
      | 'storage'
      | 'logs'
    >
  >;
  /** Replaces the server's detection of the machine's network addresses. */
  readonly addresses?: ComposeDeps['addresses'];
  readonly agent?: Partial<ComposeDeps['agent']>;
  /** A folder with the programs that rigs download; none by default. */
  readonly workerPrograms?: string;
  readonly failureLimit?: ComposeDeps['failureLimit'];
  readonly socketLimits?: ComposeDeps['socketLimits'];
  readonly uploadPace?: ComposeDeps['uploadPace'];
  readonly downloadLimits?: ComposeDeps['downloadLimits'];
  readonly clock?: ComposeDeps['clock'];
  readonly logRequests?: boolean;
  readonly jsonLog?: boolean;
}

/** Creates a worker named `rig-to-join`, and returns a join token for it. */
export async function joinTokenOf(server: TestServer): Promise<string> {
  const { id } = await server.createWorker({ name: 'rig-to-join' });
  const answer = await server.admin.call(workersApi.createJoinToken, { params: { id }, body: {} });
  return valueOf(answer).join_token;
}

const bootOf = (clock: Clock) => () => ({ sinceBoot: clock.wall(), bootId: 'test' });

/** Starts a complete orchestrator in this process, on its own port and in its own folder. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'trainyard-test-'));
  const configsDir = join(dataDir, 'configs');
  const log: string[] = [];
  const composed = await compose(
    {
      host: '127.0.0.1',
      port: options.port ?? 0,
      dataDir,
      configsDir,
      heartbeatTimeoutMs: options.heartbeatTimeoutMs ?? defaultTimeoutMs,
      v1SilenceMs: 0,
      allowHosts: ['trainyard.example'],
      notifyAllow: [],
      trustClock: false,
      auditWitnesses: [],
      trustedProxies: [],
      publicUrl: null,
      auditRetentionDays: null,
      isSecure: false,
      certificateFiles: null,
      storage: { perJob: 2 ** 30, inAll: 2 ** 31, keepCheckpoints: 0, reserve: 0 },
      datasetsInAll: 0,
      logs: { perAttempt: 2 ** 28, retentionDays: null },
      localAllowConfigScripts: null,
      localWorker: { enabled: false, gpus: null, trainer: null, workDir: null },
      fixedBy: {},
      ...options.config,
    },
    {
      clock: options.clock ?? systemClock,
      // If a test sets the clock ahead, the time since boot advances too, so the server trusts the clock.
      ...(options.clock && { boot: bootOf(options.clock) }),
      ids: systemIds,
      // Start with a migrated database. Migrating an empty database takes half of the start time.
      emptyDatabase: newDatabaseFile(),
      log: createLog(line => log.push(line()), options.jsonLog ?? false),
      logRequests: options.logRequests ?? false,
      agent: { command: [], env: {}, hasSample: true, ...options.agent },
      workerPrograms: options.workerPrograms ?? null,
      ...(options.addresses && { addresses: options.addresses }),
      ...(options.socketLimits && { socketLimits: options.socketLimits }),
      ...(options.downloadLimits && { downloadLimits: options.downloadLimits }),
      ...(options.uploadPace && { uploadPace: options.uploadPace }),
      ...(options.failureLimit && { failureLimit: options.failureLimit }),
      onFatal: () => log.push('the disk has failed'),
    },
  );
  const { url } = composed;
  const adminToken = composed.adminToken();
  const admin = adminClient(url, adminToken);
  const watch = await watchEvents(url, adminToken);
  return {
    url,
    adminToken,
    dataDir,
    admin,
    watch,
    log,
    ...createShortcuts(admin),
    config(name, config) {
      mkdirSync(configsDir, { recursive: true });
      writeFileSync(join(configsDir, `${name}.json`), JSON.stringify(config));
    },
    async close() {
      watch.close();
      await composed.close();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export const adminClient = (url: string, token: string): Client =>
  createClient({ baseUrl: url, headers: () => ({ authorization: `Bearer ${token}` }), timeoutMs: 10_000 });

export const createShortcuts = (admin: Client): Pick<TestServer, 'createWorker' | 'submit'> => ({
  async createWorker(body) {
    const created = valueOf(await admin.call(workersApi.create, { body }));
    return { id: created.worker_id, token: created.token };
  },
  async submit(body) {
    const answer = valueOf(await admin.call(queueApi.submit, { body }));
    if (answer.job_id === null) throw new Error(`the job was rejected: ${answer.reason}`);
    return answer.job_id;
  },
});

/** Returns the value of a successful call. Throws with the failure otherwise. */
export function valueOf<T>(
  result: { readonly ok: true; readonly value: T } | Extract<CallResult<typeof queueApi.get>, { ok: false }>,
): T {
  if (result.ok) return result.value;
  throw new Error(`the call failed: ${JSON.stringify(result.failure)}`, { cause: result.failure });
}
