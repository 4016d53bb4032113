/** graphile-worker with its default settings except for logging, because a log line per job would dominate the time. */
import { setTimeout } from 'node:timers/promises';
import { configOf } from '../workers.ts';
import { loadPackage } from './packages.ts';
import type { Peer } from './peer.ts';

/** The part of the package's API that this file uses. */
interface Package {
  makeWorkerUtils(options: Options): Promise<Utils>;
  run(
    options: RunOptions,
  ): Promise<{ readonly events: { on(event: 'job:complete', listener: () => void): void } }>;
  readonly Logger: new (factory: () => () => void) => object;
}

interface Utils {
  migrate(): Promise<void>;
  addJob(task: string, payload: object): Promise<unknown>;
  withPgClient<R>(use: (client: Client) => Promise<R>): Promise<R>;
}

interface Client {
  query(text: string): Promise<{ readonly rows: readonly { readonly count: string }[] }>;
}

interface Options {
  readonly connectionString: string;
  readonly maxPoolSize: number;
  readonly logger: object;
}

interface RunOptions extends Options {
  readonly concurrency: number;
  readonly taskList: Readonly<Record<string, (payload: { readonly mark: number }) => Promise<void>>>;
}

export interface PostgresAddress {
  readonly packages: string;
  /** The folder of PostgreSQL's socket. */
  readonly host: string;
}

const taskName = 'bench';

function open(
  address: string,
  maxPoolSize: number,
): { readonly graphile: Package; readonly options: Options } {
  const { packages, host } = JSON.parse(address) as PostgresAddress;
  const graphile = loadPackage(packages, 'graphile-worker') as Package;
  const connectionString = `postgresql://postgres@${encodeURIComponent(host)}/postgres`;
  return {
    graphile,
    options: { connectionString, maxPoolSize, logger: new graphile.Logger(() => () => {}) },
  };
}

export const graphileWorker: Peer = {
  openAdder: async (address, concurrency) => {
    const { graphile, options } = open(address, concurrency);
    const utils = await graphile.makeWorkerUtils(options);
    await utils.migrate();
    return { add: async mark => void (await utils.addJob(taskName, configOf(mark))) };
  },

  openWorker: async (address, concurrency, callbacks) => {
    // One connection more, because graphile-worker uses one to listen for jobs.
    const { graphile, options } = open(address, concurrency + 1);
    const taskList = { [taskName]: async ({ mark }: { readonly mark: number }) => callbacks.started(mark) };
    const runner = await graphile.run({ ...options, concurrency, taskList });
    runner.events.on('job:complete', () => callbacks.ended());
    const utils = await graphile.makeWorkerUtils(options);
    /** Returns the number of jobs whose row still exists, as text. */
    const countRows = async (): Promise<string | undefined> =>
      utils.withPgClient(async client => {
        const { rows } = await client.query('SELECT count(*) FROM graphile_worker._private_jobs');
        return rows[0]?.count;
      });
    return {
      // graphile-worker reports the end of a job before PostgreSQL has committed the end. The commit removes the job's row.
      async untilDurable() {
        while ((await countRows()) !== '0') await setTimeout(1);
      },
    };
  },
};
