/**
 * A simulated MLflow tracking server in memory. It enforces MLflow's limits (mlflow/utils/validation.py) and the rules of
 * MLflow's stores: a param cannot change, and a name cannot also be a folder of another name, such as `loss` and `loss/train`.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Metric {
  readonly key: string;
  readonly value: number;
  readonly timestamp: number;
  readonly step: number;
}

export interface ReceivedRun {
  readonly run_id: string;
  readonly experiment_id: string;
  readonly run_name: string;
  readonly start_time: number;
  status: string;
  end_time: number | null;
  readonly params: Map<string, string>;
  readonly tags: Map<string, string>;
  readonly metrics: Metric[];
}

export interface MlflowReceiver {
  readonly url: string;
  readonly runs: readonly ReceivedRun[];
  readonly experiments: Map<string, { readonly id: string; lifecycle_stage: string }>;
  /** All requests, such as `POST runs/log-batch`. */
  readonly requests: string[];
  /** Returns the HTTP status with which a request fails, or null to serve the request. Tests replace this function. */
  fail: (request: string, input: Input) => number | null;
  /** The required value of the Authorization header; null accepts all requests. */
  authorization: string | null;
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const invalid = (message: string): never => {
  throw new Refusal(400, 'INVALID_PARAMETER_VALUE', message);
};
const missing = (message: string): never => {
  throw new Refusal(404, 'RESOURCE_DOES_NOT_EXIST', message);
};

function checkName(name: string): void {
  if (!/^[\p{L}\p{N}_/.\- ]*$/u.test(name)) return invalid(`Invalid name: '${name}'`);
  const parts = name.split('/');
  const isPlain = !parts.some(part => part === '' || part === '.' || part === '..') && !name.startsWith('..');
  if (!isPlain) invalid(`Invalid name: '${name}'. Names may be treated as files`);
  if (name.length > 250) invalid(`Name '${name}' exceeded length limit of 250`);
}

/** Checks that no name is also a folder of another name. MLflow's file store keeps each name as a file below the run's folder. */
function checkFolders(names: Iterable<string>): void {
  const all = new Set(names);
  for (const name of all)
    for (const { index } of name.matchAll(/\//g))
      if (all.has(name.slice(0, index))) invalid(`'${name}' needs a folder that is a file`);
}

interface Pair {
  readonly key: string;
  readonly value: string;
}

/** The union of the fields of all requests. */
interface Input {
  readonly experiment_name?: string;
  readonly name?: string;
  readonly experiment_ids?: readonly string[];
  readonly experiment_id?: string;
  readonly filter?: string;
  readonly max_results?: number;
  readonly run_id?: string;
  readonly run_name?: string;
  readonly start_time?: number;
  readonly end_time?: number;
  readonly status?: string;
  readonly metric_key?: string;
  readonly page_token?: string;
  readonly metrics?: readonly Metric[];
  readonly params?: readonly Pair[];
  readonly tags?: readonly Pair[];
}

function logBatch(run: ReceivedRun, { metrics = [], params = [], tags = [] }: Input, bytes: number): void {
  if (bytes > 1e6) invalid(`Batched logging API requests must be at most 1000000 bytes, got ${bytes}`);
  if (metrics.length > 1_000 || params.length > 100 || tags.length > 100)
    invalid('A batch logging request can contain at most 1000 metrics, 100 params and 100 tags');
  if (metrics.length + params.length + tags.length > 1_000) invalid('at most 1000 metrics, params, and tags');
  for (const { key, value, timestamp, step } of metrics) {
    checkName(key);
    const isValid =
      Number.isFinite(value) && Number.isInteger(timestamp) && timestamp >= 0 && Number.isInteger(step);
    if (!isValid) invalid(`Got invalid value for metric '${key}'`);
  }
  for (const { key, value } of params) {
    checkName(key);
    if (value.length > 6_000) invalid(`Param value of '${key}' exceeded length limit of 6000`);
    if ((run.params.get(key) ?? value) !== value) invalid(`Changing param values is not allowed: '${key}'`);
  }
  if (new Set(params.map(({ key }) => key)).size < params.length) invalid('Duplicate parameter keys');
  for (const { key, value } of tags) {
    checkName(key);
    if (value.length > 5_000) invalid(`Tag value of '${key}' exceeded length limit of 5000`);
  }
  checkFolders([...run.params.keys(), ...params.map(({ key }) => key)]);
  checkFolders([...run.metrics, ...metrics].map(({ key }) => key));
  for (const { key, value } of params) run.params.set(key, value);
  run.metrics.push(...metrics);
  for (const { key, value } of tags) run.tags.set(key, value);
}

const maxHistoryPage = 300;

export async function startMlflow(): Promise<MlflowReceiver> {
  const runs: ReceivedRun[] = [];
  const experiments: MlflowReceiver['experiments'] = new Map();
  const runOf = (id: string | undefined): ReceivedRun =>
    runs.find(({ run_id: each }) => each === id) ?? missing(`Run with id=${id} not found`);
  const viewOf = ({ params, tags, metrics, ...info }: ReceivedRun): object => ({
    info,
    data: {
      params: [...params].map(([key, value]) => ({ key, value })),
      tags: [...tags].map(([key, value]) => ({ key, value })),
      metrics: [...new Set(metrics.map(({ key }) => key))].map(key => ({
        key,
        value: 0,
        timestamp: 0,
        step: 0,
      })),
    },
  });

  const calls: Readonly<Record<string, (input: Input, bytes: number) => object>> = {
    'GET experiments/get-by-name'({ experiment_name: name = '' }) {
      const experiment = experiments.get(name) ?? missing(`Could not find experiment with name '${name}'`);
      return {
        experiment: { experiment_id: experiment.id, name, lifecycle_stage: experiment.lifecycle_stage },
      };
    },
    'POST experiments/create'({ name = '' }) {
      if (experiments.has(name))
        throw new Refusal(400, 'RESOURCE_ALREADY_EXISTS', `Experiment '${name}' exists`);
      if (name === '' || name.length > 500) invalid('Invalid experiment name');
      const id = String(experiments.size + 1);
      experiments.set(name, { id, lifecycle_stage: 'active' });
      return { experiment_id: id };
    },
    'POST runs/search'({ experiment_ids: ids = [], filter = '', max_results: limit }) {
      const [, key = '', value = ''] =
        /^tags\."([^"]+)" = '([^']*)'$/.exec(filter) ?? invalid(`Invalid filter ${filter}`);
      const matching = runs.filter(
        ({ experiment_id: id, tags }) => ids.includes(id) && tags.get(key) === value,
      );
      return matching.length === 0 ? {} : { runs: matching.slice(0, limit).map(viewOf) };
    },
    'POST runs/create'({ experiment_id = '', run_name = '', start_time = 0, tags = [] }) {
      const run: ReceivedRun = {
        run_id: `r${String(runs.length + 1).padStart(31, '0')}`,
        experiment_id,
        run_name,
        start_time,
        status: 'RUNNING',
        end_time: null,
        params: new Map(),
        tags: new Map(),
        metrics: [],
      };
      logBatch(run, { tags }, 0);
      runs.push(run);
      return { run: viewOf(run) };
    },
    'GET metrics/get-history'({ run_id: id, metric_key: key, max_results: limit, page_token: token = '0' }) {
      const all = runOf(id).metrics.filter(metric => metric.key === key);
      const end = Number(token) + Math.min(Number(limit), maxHistoryPage);
      return {
        metrics: all.slice(Number(token), end),
        ...(end < all.length && { next_page_token: String(end) }),
      };
    },
    'POST runs/log-batch'(input, bytes) {
      logBatch(runOf(input.run_id), input, bytes);
      return {};
    },
    'POST runs/update'({ run_id: id, status = '', end_time: endTime }) {
      const run = runOf(id);
      run.status = status;
      run.end_time = endTime ?? run.end_time;
      return { run_info: { run_id: id, status } };
    },
  };

  const server = createServer((request, response) => {
    void answer(request).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  const answer = async (request: IncomingMessage): Promise<{ status: number; body: object }> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks);
    const url = new URL(request.url ?? '/', 'http://receiver');
    const name = `${request.method} ${url.pathname.replace('/base/api/2.0/mlflow/', '')}`;
    receiver.requests.push(name);
    if (receiver.authorization !== null && request.headers.authorization !== receiver.authorization)
      return { status: 401, body: { error_code: 'UNAUTHENTICATED', message: 'not authenticated' } };
    const rawInput: unknown =
      text.length > 0 ? JSON.parse(text.toString()) : Object.fromEntries(url.searchParams);
    const input = rawInput as Input;
    const failure = receiver.fail(name, input);
    if (failure !== null)
      return { status: failure, body: { error_code: 'INTERNAL_ERROR', message: 'out of order' } };
    try {
      const call = calls[name] ?? missing(`There is no ${name}`);
      return { status: 200, body: call(input, text.length) };
    } catch (cause) {
      if (!(cause instanceof Refusal)) throw cause;
      return { status: cause.status, body: { error_code: cause.code, message: cause.message } };
    }
  };
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: MlflowReceiver = {
    url: `http://127.0.0.1:${port}/base`,
    runs,
    experiments,
    requests: [],
    fail: () => null,
    authorization: null,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
