import { z } from 'zod';
import { ArtifactPath } from './artifact.ts';
import { plainIssues } from './plain-issue.ts';

/** Actions that a running trainer may support. */
export const requestKinds = ['save', 'sample'] as const;
export const RequestKind = z
  .enum(requestKinds)
  .describe('Action of a running trainer: `save` writes a checkpoint, `sample` makes samples.');
export type RequestKind = z.infer<typeof RequestKind>;

/** Config key that defines how to request actions from the trainer. */
export const requestsKey = '$requests';

/** Signals that trainers can handle without terminating. Signals that stop a process are excluded. */
export const requestSignals = ['SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGWINCH'] as const;
export type RequestSignal = (typeof requestSignals)[number];

/**
 * The way to request an action: send a signal to the trainer's process, or create an empty file below its output folder.
 * The trainer removes that file after the action.
 */
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
    context.addIssue({ code: 'custom', message: 'expected either a signal or a file' });
    return z.NEVER;
  });

const Requests = z.strictObject({ save: Way.optional(), sample: Way.optional() });
export type Requests = Readonly<z.output<typeof Requests>>;

export type RequestsRead =
  | { readonly ok: true; readonly value: Requests }
  /** The first error, as a sentence without the full stop. */
  | { readonly ok: false; readonly reason: string };

/** Parses `$requests` of a config. Without that key, the trainer supports no actions. */
export function requestsOf(config: Readonly<Record<string, unknown>>): RequestsRead {
  const parsed = Requests.safeParse(config[requestsKey] ?? {}, plainIssues);
  if (parsed.success) return { ok: true, value: parsed.data };
  const [reason] = parsed.error.issues.map(
    ({ path, message }) => `${[requestsKey, ...path].join('.')} in the config cannot be read: ${message}`,
  );
  return { ok: false, reason: String(reason) };
}
