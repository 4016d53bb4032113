import { setTimeout as pause } from 'node:timers/promises';
import { exitCodes, fail } from '../failure.ts';
import type { TrackingServer } from './address.ts';
import { isLater, type Metric, type Moment } from './metrics.ts';
import type { Pair } from './params.ts';
import type { RunStatus } from './run-facts.ts';

/** The parts of a run that an export needs. */
export interface Run {
  readonly id: string;
  /** Keys of the existing params. */
  readonly params: ReadonlySet<string>;
  /** Names of the existing metrics. */
  readonly metrics: readonly string[];
}

export interface NewRun {
  readonly experiment_id: string;
  readonly run_name: string;
  readonly start_time: number;
  readonly tags: readonly Pair[];
}

/** The calls of MLflow's REST API that an export needs. Each failure ends the command with a message. */
export interface Mlflow {
  /** Returns the id of the experiment with this name. Creates the experiment if it does not exist. */
  experiment(name: string): Promise<string>;
  /** Returns the run with this tag; null when there is none. */
  findRun(experimentId: string, tag: Pair): Promise<Run | null>;
  createRun(run: NewRun): Promise<Run>;
  /** Returns the time and step of the last value of a metric; null without values. */
  lastValue(runId: string, metric: string): Promise<Moment | null>;
  log(
    runId: string,
    batch: { readonly [K in 'metrics' | 'params' | 'tags']?: readonly (Metric | Pair)[] },
  ): Promise<void>;
  setStatus(runId: string, status: RunStatus, endTime: number | null): Promise<void>;
}

type Json = Readonly<Record<string, unknown>>;
type Answer = { readonly status: number; readonly body: Json | null };

const timeoutMs = 60_000;
const maxTries = 4;
const firstPauseMs = 250;
/** Statuses that MLflow's own client retries. */
const transient = new Set([408, 429, 500, 502, 503, 504]);
/** Number of values per page of a metric's history. */
const pageSize = 10_000;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectIn = (json: Json | null, key: string): Json => {
  const value = json?.[key];
  return isObject(value) ? value : {};
};
const listIn = (json: Json | null, key: string): readonly Json[] => {
  const value = json?.[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
};
const textIn = (json: Json, key: string): string => {
  const value = json[key];
  return typeof value === 'string' ? value : '';
};

export function createMlflow(server: TrackingServer): Mlflow {
  const call = createCall(server);
  const callOrFail = async (path: string, method: 'GET' | 'POST', input: Json): Promise<Json> => {
    const answer = await call(path, method, input);
    return answer.status === 200 && answer.body !== null ? answer.body : refuse(server.url, path, answer);
  };
  return {
    async experiment(name) {
      const path = 'experiments/get-by-name';
      const answer = await call(path, 'GET', { experiment_name: name });
      if (codeOf(answer) === 'RESOURCE_DOES_NOT_EXIST')
        return textIn(await callOrFail('experiments/create', 'POST', { name }), 'experiment_id');
      if (answer.status !== 200) return refuse(server.url, path, answer);
      const experiment = objectIn(answer.body, 'experiment');
      if (textIn(experiment, 'lifecycle_stage') === 'deleted')
        fail(
          exitCodes.conflict,
          `The experiment "${name}" is deleted. Restore it in MLflow, or use --experiment`,
        );
      return textIn(experiment, 'experiment_id');
    },
    async findRun(experimentId, { key, value }) {
      const filter = `tags."${key}" = '${value}'`;
      const query = { experiment_ids: [experimentId], filter, run_view_type: 'ACTIVE_ONLY', max_results: 1 };
      const [run] = listIn(await callOrFail('runs/search', 'POST', query), 'runs');
      return run === undefined ? null : toRun(run);
    },
    async createRun(run) {
      return toRun(objectIn(await callOrFail('runs/create', 'POST', { ...run }), 'run'));
    },
    async lastValue(runId, metric) {
      let last: Moment | null = null;
      for (let token: string | null = ''; token !== null; ) {
        const page: Json = await callOrFail('metrics/get-history', 'GET', {
          run_id: runId,
          metric_key: metric,
          max_results: pageSize,
          ...(token && { page_token: token }),
        });
        for (const value of listIn(page, 'metrics')) {
          // MLflow writes large numbers as text.
          const moment = { timestamp: Number(value['timestamp']), step: Number(value['step'] ?? 0) };
          if (last === null || isLater(moment, last)) last = moment;
        }
        token = textIn(page, 'next_page_token') || null;
      }
      return last;
    },
    async log(runId, batch) {
      await callOrFail('runs/log-batch', 'POST', { run_id: runId, ...batch });
    },
    async setStatus(runId, status, endTime) {
      await callOrFail('runs/update', 'POST', {
        run_id: runId,
        status,
        ...(endTime !== null && { end_time: endTime }),
      });
    },
  };
}

function toRun(run: Json): Run {
  const data = objectIn(run, 'data');
  const keys = (name: string): readonly string[] => listIn(data, name).map(each => textIn(each, 'key'));
  return {
    id: textIn(objectIn(run, 'info'), 'run_id'),
    params: new Set(keys('params')),
    metrics: keys('metrics'),
  };
}

/** Creates the function that sends a request, and retries after a temporary failure. */
function createCall({ url, authorization, send }: TrackingServer) {
  return async (path: string, method: 'GET' | 'POST', input: Json): Promise<Answer> => {
    const target = new URL(`${url}/api/2.0/mlflow/${path}`);
    if (method === 'GET')
      for (const [key, value] of Object.entries(input)) target.searchParams.set(key, String(value));
    const headers = {
      accept: 'application/json',
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(authorization !== null && { authorization }),
    };
    const sendOnce = async (): Promise<Answer> => {
      const signal = AbortSignal.timeout(timeoutMs);
      const body = method === 'POST' ? { body: JSON.stringify(input) } : {};
      const answer = await send(target, { method, headers, signal, ...body });
      return { status: answer.status, body: parse(await answer.text()) };
    };
    for (let attempt = 1; ; attempt += 1) {
      const answer = await sendOnce().catch((cause: unknown) => ({ cause }));
      const isLast = attempt === maxTries;
      if ('cause' in answer) {
        // Do not create a run again, because it may exist although the answer was lost. The next export finds it by its tag.
        if (isLast || path === 'runs/create') return unreachable(url, answer.cause);
      } else if (isLast || !transient.has(answer.status)) return answer;
      await pause(firstPauseMs * 2 ** (attempt - 1));
    }
  };
}

function parse(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const codeOf = ({ body }: Answer): string => (body === null ? '' : textIn(body, 'error_code'));

const untrusted =
  'this machine does not trust its certificate. Set MLFLOW_TRACKING_SERVER_CERT_PATH to the file of its certificate authority';
const reasons: readonly (readonly [code: RegExp, reason: string])[] = [
  [/^ECONNREFUSED$/, 'connection refused. Check the address and port, and that MLflow is running'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'unknown host name. Check the address'],
  [/^TimeoutError$/, `no answer within ${timeoutMs / 1_000} s`],
  [/^ERR_REDIRECTED$/, 'it redirects to another address. Give that address with --tracking-uri'],
  [/^(?:\w*SELF_SIGNED_CERT\w*|UNABLE_TO_\w+|CERT_\w+)$/, untrusted],
];

function unreachable(url: string, cause: unknown): never {
  let why = String(cause);
  for (let error = cause; error instanceof Error; error = error.cause) {
    const code = 'code' in error ? String(error.code) : error.name;
    const [, reason] = reasons.find(([pattern]) => pattern.test(code)) ?? [];
    if (reason !== undefined)
      return fail(exitCodes.unreachable, `MLflow at ${url} cannot be reached: ${reason}`);
    why = error.message;
  }
  return fail(exitCodes.unreachable, `MLflow at ${url} cannot be reached: ${why}`);
}

function refuse(url: string, path: string, answer: Answer): never {
  const { status, body } = answer;
  if (status === 401 || status === 403)
    return fail(
      exitCodes.denied,
      `MLflow at ${url} refuses access (${status}). Set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD`,
    );
  if (body === null)
    return fail(
      exitCodes.failed,
      `${url} did not answer as MLflow does (${status}). Check the address of the tracking server`,
    );
  const why = (textIn(body, 'message') || codeOf(answer) || 'no reason').slice(0, 500);
  const code = status >= 500 ? exitCodes.failed : exitCodes.rejected;
  return fail(code, `MLflow refused ${path} (${status}): ${why}`);
}
