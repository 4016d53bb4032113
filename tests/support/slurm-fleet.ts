import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { Client } from '../../protocol/client.ts';
import type { JobId, PoolId } from '../../protocol/ids.ts';
import type { AttemptView, JobDetail } from '../../protocol/job.ts';
import type { LaunchView, NewPool, PoolView } from '../../protocol/pool.ts';
import { poolsApi } from '../../protocol/pools-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { digitsTrainer, type ServerProgram, startServer, temporaryFolder } from './processes.ts';
import { workerFile } from './program-files.ts';
import { adminClient, createShortcuts, valueOf } from './server.ts';
import type { SlurmLab } from './slurm-lab.ts';

/** A server whose pools order workers from a Slurm cluster on this machine. */
export interface SlurmFleet {
  readonly server: ServerProgram;
  readonly client: Client;
  createPool(name: string, settings: Partial<NewPool> & { readonly partition: string }): Promise<PoolId>;
  /** Submits a training on handwritten digits. Each epoch takes about two seconds. */
  submitDigits(epochs: number): Promise<JobId>;
  job(id: JobId): Promise<JobDetail>;
  attempts(id: JobId): Promise<readonly AttemptView[]>;
  pool(id: PoolId): Promise<PoolView>;
  /** Returns the launches of the pool, newest first. */
  launches(pool: PoolId): Promise<readonly LaunchView[]>;
  /**
   * Repeats `find` until it returns a value other than null, and returns the value. Rejects after the timeout, 30 s by default.
   */
  until<T>(what: string, find: () => Promise<T | null>, timeoutMs?: number): Promise<T>;
  /** Resolves with the job when it has this status. Fails the test when the job has failed instead. */
  jobIn(id: JobId, status: string, timeoutMs?: number): Promise<JobDetail>;
}

/** Writes a script that Slurm's machines run to start the worker. Returns its path. */
function workerProgram(lab: SlurmLab): string {
  const file = join(lab.folder, 'trainyard-worker');
  const log = join(lab.folder, 'workers.log');
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${workerFile}' "$@" >>'${log}' 2>&1\n`);
  chmodSync(file, 0o755);
  return file;
}

export async function startSlurmFleet(
  lab: SlurmLab,
  {
    dataDir = temporaryFolder(),
    port = '0',
    path,
  }: {
    readonly dataDir?: string;
    readonly port?: string;
    /** A folder with programs that replace programs of the lab with the same name. */
    readonly path?: string;
  } = {},
): Promise<SlurmFleet> {
  const env = {
    SLURM_CONF: join(lab.folder, 'slurm.conf'),
    PATH: [path, join(lab.folder, 'bin'), process.env['PATH']].filter(part => part !== undefined).join(':'),
  };
  const server = await startServer(['--port', port], dataDir, { env });
  onTestFinished(() => server.kill('SIGKILL'));
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const client = adminClient(server.url, token);
  const { submit } = createShortcuts(client);
  const program = workerProgram(lab);

  const until: SlurmFleet['until'] = (what, find, timeoutMs = 30_000) =>
    vi.waitFor(
      async () => {
        const result = await find();
        if (result === null) throw new Error(`no result yet: ${what}\n${workersLog(lab)}`);
        return result;
      },
      { timeout: timeoutMs, interval: 100 },
    );
  const job = async (id: JobId): Promise<JobDetail> =>
    valueOf(await client.call(queueApi.get, { params: { id } }));

  return {
    server,
    client,
    until,
    job,
    async createPool(name, { partition, ...settings }) {
      const body = poolsApi.create.body.parse({
        name,
        engine: { kind: 'slurm', partition },
        after_s: 0,
        idle_s: 2,
        wall_time_s: 600,
        worker_program: program,
        worker_options: `--trainer "${digitsTrainer.replaceAll('"', String.raw`\"`)}"`,
        ...settings,
      });
      return valueOf(await client.call(poolsApi.create, { body })).pool_id;
    },
    submitDigits: epochs =>
      submit({
        config: {
          epochs,
          batch_size: 64,
          learning_rate: 0.05,
          final_learning_rate: 0.001,
          hidden: 64,
          seed: 7,
          checkpoint_every: 100_000,
          $requests: { save: { signal: 'SIGUSR1' } },
        },
      }),
    attempts: async id => (await job(id)).attempts,
    pool: async id => valueOf(await client.call(poolsApi.get, { params: { id } })),
    async launches(id) {
      const { launches } = valueOf(
        await client.call(poolsApi.launches, { params: { id }, query: { limit: 50 } }),
      );
      return launches;
    },
    jobIn: (id, status, timeoutMs) =>
      until(
        `job ${id} ${status}`,
        async () => {
          const view = await job(id);
          if (view.status === 'failed' && status !== 'failed')
            expect.fail(`job ${id} failed: ${view.error_message}`);
          return view.status === status ? view : null;
        },
        timeoutMs,
      ),
  };
}

/** Returns the last lines that the workers have logged. */
function workersLog(lab: SlurmLab): string {
  try {
    return readFileSync(join(lab.folder, 'workers.log'), 'utf8').split('\n').slice(-15).join('\n');
  } catch {
    return 'no worker has started';
  }
}
