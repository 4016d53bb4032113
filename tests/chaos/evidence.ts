import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ServerProcess } from '../faults/server-process.ts';

const Attempt = z.looseObject({
  attempt: z.number(),
  attempt_id: z.string(),
  worker_id: z.string(),
  outcome: z.string().nullable(),
  cause: z.string().nullable(),
  exit_code: z.number().nullable(),
  resumed: z.looseObject({ checkpoint: z.string().nullable() }).nullable(),
});
const Job = z.looseObject({
  id: z.string(),
  status: z.string(),
  cause: z.string().nullable(),
  error_message: z.string().nullable(),
  attempts: z.array(Attempt),
  outstanding: z.looseObject({ files: z.number().nullable(), reason: z.string().nullable() }).nullish(),
});
const Artifacts = z.looseObject({
  artifacts: z.array(z.looseObject({ key: z.string(), sha256: z.string(), attempt: z.number() })),
});
const Metrics = z.looseObject({
  attempts: z.array(
    z.looseObject({
      attempt: z.number(),
      series: z.array(
        z.looseObject({
          key: z.string(),
          points: z.array(
            z.looseObject({ step: z.number().nullable(), last: z.number().nullable(), count: z.number() }),
          ),
        }),
      ),
    }),
  ),
});

/** The data that the API returns about one job after the run. */
export interface JobEvidence {
  readonly job: z.output<typeof Job>;
  /** `listed`: the hash in the list of files. `sha256`: the hash of the downloaded bytes; null when the download fails. */
  readonly files: readonly {
    readonly key: string;
    readonly listed: string;
    readonly sha256: string | null;
  }[];
  /** The loss curve of each attempt, by the number of the attempt. */
  readonly curves: ReadonlyMap<number, readonly Point[]>;
  /** The log of each attempt, by the number of the attempt; null when the attempt has no log. */
  readonly logs: ReadonlyMap<number, string | null>;
}

export interface Point {
  readonly step: number | null;
  readonly value: number | null;
  /** Number of values that the point summarizes. */
  readonly count: number;
}

interface Reply {
  readonly status: number;
  readonly bytes: Buffer;
}

const timeoutMs = 20_000;

async function read(server: ServerProcess, path: string): Promise<Reply> {
  const response = await fetch(new URL(path, server.url), {
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
    headers: { authorization: `Bearer ${server.adminToken}`, connection: 'close' },
  });
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
}

async function readJson<T>(server: ServerProcess, path: string, shape: z.ZodType<T>): Promise<T> {
  const { status, bytes } = await read(server, path);
  if (status !== 200) throw new Error(`GET ${path} returned status ${status}: ${bytes.toString()}`);
  return shape.parse(JSON.parse(bytes.toString()));
}

/** Reads everything about a job. Returns null when the job does not exist. */
export async function readJob(server: ServerProcess, id: string): Promise<JobEvidence | null> {
  const path = `/api/queue/${id}`;
  if ((await read(server, path)).status === 404) return null;
  const job = await readJson(server, path, Job);
  const { artifacts } = await readJson(server, `${path}/artifacts?limit=500`, Artifacts);
  const metrics = await readJson(server, `${path}/metrics?keys=loss&points=5000`, Metrics);
  const files = await Promise.all(
    artifacts.map(async ({ key, sha256 }) => ({
      key,
      listed: sha256,
      sha256: await hashOf(server, `${path}/artifacts/${key}`),
    })),
  );
  const logs = await Promise.all(
    job.attempts.map(async ({ attempt }) => {
      const { status, bytes } = await read(server, `${path}/logs/text?attempt=${attempt}`);
      return [attempt, status === 200 ? bytes.toString() : null] as const;
    }),
  );
  const curves = metrics.attempts.map(({ attempt, series }) => {
    const points = series.find(({ key }) => key === 'loss')?.points ?? [];
    return [attempt, points.map(({ step, last, count }) => ({ step, value: last, count }))] as const;
  });
  return { job, files, curves: new Map(curves), logs: new Map(logs) };
}

async function hashOf(server: ServerProcess, path: string): Promise<string | null> {
  const { status, bytes } = await read(server, path);
  return status === 200 ? createHash('sha256').update(bytes).digest('hex') : null;
}

const List = z.looseObject({
  entries: z.array(z.looseObject({ id: z.string(), status: z.string() })),
  next_cursor: z.string().nullish(),
  as_of_seq: z.number(),
});

/** Reads the status of each job, and the number of the last event. */
export async function readStatuses(
  server: ServerProcess,
): Promise<{ readonly statuses: ReadonlyMap<string, string>; readonly lastSeq: number }> {
  const statuses = new Map<string, string>();
  let cursor: string | null | undefined;
  let lastSeq: number;
  do {
    const next: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const page: z.output<typeof List> = await readJson(server, `/api/queue?limit=100${next}`, List);
    for (const { id, status } of page.entries) statuses.set(id, status);
    lastSeq = page.as_of_seq;
    cursor = page.next_cursor;
  } while (cursor);
  return { statuses, lastSeq };
}

const Worker = z.looseObject({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  status_reason: z.string().nullable(),
  current_job_id: z.string().nullable(),
  quarantine: z.looseObject({ reason: z.string() }).nullable(),
});
export type WorkerEvidence = z.output<typeof Worker>;

export const readWorkers = async (server: ServerProcess): Promise<readonly WorkerEvidence[]> =>
  (await readJson(server, '/api/admin/workers', z.looseObject({ workers: z.array(Worker) }))).workers;

const AuditRow = z.looseObject({
  event_type: z.string(),
  target_type: z.string(),
  target_id: z.string(),
  details: z.looseObject({ attempt: z.number().nullish() }),
});
export type AuditRow = z.output<typeof AuditRow>;

export interface AuditEvidence {
  readonly rows: readonly AuditRow[];
  readonly verdict: unknown;
}

export async function readAudit(server: ServerProcess): Promise<AuditEvidence> {
  const { bytes } = await read(server, '/api/audit/export');
  const rows = bytes
    .toString()
    .split('\n')
    .filter(line => line !== '')
    .map(line => AuditRow.parse(JSON.parse(line)));
  return { rows, verdict: await readJson(server, '/api/audit/verify', z.unknown()) };
}

/** Sends a heartbeat with this token. Returns the status of the response. */
export async function tryToken(server: ServerProcess, token: string): Promise<number> {
  const response = await fetch(new URL('/api/workers/heartbeat', server.url), {
    method: 'POST',
    signal: AbortSignal.timeout(timeoutMs),
    headers: { 'x-worker-token': token, 'content-type': 'application/json', connection: 'close' },
    body: '{}',
  });
  await response.text();
  return response.status;
}
