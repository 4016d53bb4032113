import { z } from 'zod';
import { ArtifactPath } from './artifact.ts';
import { plainIssues } from './plain-issue.ts';

/** What a running trainer may be asked for. */
export const requestKinds = ['save', 'sample'] as const;
export const RequestKind = z.enum(requestKinds);
export type RequestKind = z.infer<typeof RequestKind>;

/** The key of a config under which it says how its trainer is asked. */
export const requestsKey = '$requests';

/** Of those that a trainer may listen to, and that mean no end: what stops a process is no request. */
export const requestSignals = ['SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGWINCH'] as const;
export type RequestSignal = (typeof requestSignals)[number];

/** How a trainer is asked: a signal to its process, or an empty file below its output folder, which it removes when it is done. */
export type RequestWay =
  | { readonly kind: 'signal'; readonly signal: RequestSignal }
  | { readonly kind: 'file'; readonly file: string };

const Way = z
  .strictObject({
    signal: z.enum(requestSignals, { error: `expected one of ${requestSignals.join(', ')}` }).optional(),
    file: ArtifactPath.optional(),
  })
  .transform(({ signal, file }, context): RequestWay => {
    if (signal !== undefined && file === undefined) return { kind: 'signal', signal };
    if (file !== undefined && signal === undefined) return { kind: 'file', file };
    context.addIssue({ code: 'custom', message: 'expected a signal or a file, and not both' });
    return z.NEVER;
  });

const Requests = z.strictObject({ save: Way.optional(), sample: Way.optional() });
export type Requests = Readonly<z.output<typeof Requests>>;

export type RequestsRead =
  | { readonly ok: true; readonly value: Requests }
  /** A sentence without its end, of the first thing that is wrong. */
  | { readonly ok: false; readonly reason: string };

/** What a config says under `$requests`; one without the key lets its trainer be asked for nothing. */
export function requestsOf(config: Readonly<Record<string, unknown>>): RequestsRead {
  const parsed = Requests.safeParse(config[requestsKey] ?? {}, plainIssues);
  if (parsed.success) return { ok: true, value: parsed.data };
  const [reason] = parsed.error.issues.map(
    ({ path, message }) => `${[requestsKey, ...path].join('.')} in the config cannot be read: ${message}`,
  );
  return { ok: false, reason: String(reason) };
}
