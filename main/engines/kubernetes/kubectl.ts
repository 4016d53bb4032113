import type { z } from 'zod';
import type { LaunchAnswer } from '../../orchestrator/ports/engines.ts';
import { cleanLine } from '../../../protocol/text.ts';
import type { KubernetesSettings } from '../../../protocol/pool.ts';
import { type RunProgram, describeFailure } from '../run-program.ts';

const timeoutMs = 30_000;
/** Maximum size of the output of kubectl, in bytes. */
const maxOutput = 64 * 1024 * 1024;

interface Printed {
  readonly ok: boolean;
  readonly stdout: string;
  /** Also contains a failure to start kubectl. */
  readonly stderr: string;
}

/** Runs kubectl for the cluster in the settings. */
export interface Kubectl {
  run(args: readonly string[], manifest?: unknown): Promise<Printed>;
  /** Returns stdout. Throws when kubectl failed. */
  runOrThrow(args: readonly string[]): Promise<string>;
  /** Returns objects. Throws when kubectl failed or its output does not match the schema. */
  get<T extends z.ZodType>(schema: T, what: string, selector: string): Promise<z.output<T>>;
}

export interface KubectlOptions {
  readonly run: RunProgram;
  /** Name or path of the program; `kubectl` by default. */
  readonly kubectl?: string;
}

export function createKubectl(
  { run, kubectl: program = 'kubectl' }: KubectlOptions,
  { context, namespace }: KubernetesSettings,
): Kubectl {
  const connectionArgs = [
    ...(context === null ? [] : [`--context=${context}`]),
    `--namespace=${namespace}`,
    '--request-timeout=20s',
  ];
  const kubectl: Kubectl = {
    async run(args, manifest) {
      const stdin = manifest === undefined ? '' : JSON.stringify(manifest);
      const result = await run([program, ...connectionArgs, ...args], { stdin, timeoutMs, maxOutput });
      const { code, stdout, stderr } = result;
      // Codes from 126 on are not kubectl's own: kubectl did not start, or a signal ended it.
      const isOwnError = code !== null && code < 126;
      return { ok: code === 0, stdout, stderr: isOwnError ? stderr : describeFailure('kubectl', result) };
    },
    async runOrThrow(args) {
      const { ok, stdout, stderr } = await kubectl.run(args);
      if (!ok) throw new Error(`kubectl ${args[0]} failed: ${errorOf(stderr)}`);
      return stdout;
    },
    async get(schema, what, selector) {
      const printed = await kubectl.runOrThrow(['get', what, `--selector=${selector}`, '--output=json']);
      const parsed = schema.safeParse(parseJson(printed));
      if (!parsed.success) throw new Error(`kubectl get ${what} printed something unexpected`);
      return parsed.data;
    },
  };
  return kubectl;
}

/** The ids are part of a selector in a URL, whose length is limited. */
const maxIdsPerCall = 100;

export const inChunks = (ids: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / maxIdsPerCall) }, (_, at) =>
    ids.slice(at * maxIdsPerCall, (at + 1) * maxIdsPerCall),
  );

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Failure = Exclude<LaunchAnswer, { kind: 'accepted' }>;

/** Errors of the API server that occur again if the same order is repeated. */
const permanent = new Set(['BadRequest', 'Forbidden', 'Invalid', 'MethodNotAllowed', 'NotFound']);

/** After these errors, the API server has not processed the request. A later request may succeed. */
const temporary = new Set(['TooManyRequests', 'Unauthorized']);

/** Matches errors that occur before kubectl sends a request. */
const isLocal =
  /^kubectl was not found|context "[^"]*" does not exist|context was not found|no configuration has been provided|executable \S+ (?:not found|failed)/;

const serverError = /^Error from server \((\w+)\): (.*)$/m;
const invalidObject = /^The \w+ "[^"]*" is invalid: ?([\s\S]*)$/m;
const loginNeeded = /^error: (You must be logged in to the server.*)$/m;

const toLine = (words: string): string => cleanLine(words).replaceAll(/ +/g, ' ').trim().slice(0, 300);

/** Returns kubectl's error as one line, without its log lines and warnings. */
export function errorOf(stderr: string): string {
  const lines = stderr
    .split('\n')
    .filter(line => line.trim() !== '' && !/^[EIW]\d{4} |^Warning: /.test(line));
  return toLine(lines.join(' ')) || toLine(stderr);
}

export const isAlreadyThere = (stderr: string): boolean => serverError.exec(stderr)?.[1] === 'AlreadyExists';

/**
 * Interprets a failed `kubectl create`. Returns `rejected` only if it certainly created nothing, otherwise `unknown`. The scope
 * is `temporary` if a repetition could succeed.
 */
export function toFailure(stderr: string): Failure {
  const message = errorOf(stderr);
  const invalid = invalidObject.exec(stderr);
  if (invalid !== null) return { kind: 'rejected', scope: 'permanent', code: 'Invalid', message };
  const [, code = '', words = ''] = serverError.exec(stderr) ?? [];
  if (code === 'Forbidden' && words.includes('exceeded quota'))
    return { kind: 'rejected', scope: 'temporary', code: 'QuotaExceeded', message };
  if (permanent.has(code)) return { kind: 'rejected', scope: 'permanent', code, message };
  if (temporary.has(code)) return { kind: 'rejected', scope: 'temporary', code, message };
  if (loginNeeded.test(stderr))
    return { kind: 'rejected', scope: 'temporary', code: 'Unauthorized', message };
  if (isLocal.test(stderr)) return { kind: 'rejected', scope: 'temporary', code: 'kubectl', message };
  return { kind: 'unknown', message };
}
