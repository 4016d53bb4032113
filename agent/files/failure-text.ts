import type { Failure } from '../retry/decisions.ts';

/** Returns why a command could not start, as text for people. */
export function startFailure(cause: unknown): string {
  const missing = cause instanceof Error && 'syscall' in cause && /^spawn .*ENOENT/.test(cause.message);
  if (missing && 'path' in cause)
    return `No trainer found: ${String(cause.path)} is not on this machine. Install it, or choose another with --trainer`;
  const reason = reasonOf(cause);
  return `The trainer could not be started: ${reason}${isFullDisk(reason) ? '. Free space on the disks of --work-dir and of the state folder' : ''}`;
}

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

export const isFullDisk = (reason: string): boolean => /\b(ENOSPC|EDQUOT)\b/.test(reason);

/** Returns the reason for a failed call, as text for people. */
export function describeFailure(failure: Failure): string {
  switch (failure.kind) {
    case 'problem':
      return failure.problem.detail;
    case 'unexpected':
      return failure.detail;
    case 'unreachable':
    case 'disk':
      return reasonOf(failure.cause);
  }
}

/** Formats a size in decimal units, which are usual for disks. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;
  const power = bytes < 1_000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${units[power] ?? ''}`;
}

const noServer = {
  what: 'could not forward',
  remedy: 'check that the server runs, and that the proxy reaches it',
} as const;
const tooSlow = { what: 'ran out of time for', remedy: 'raise its timeouts' } as const;
const otherProxyAnswer = { what: 'refused', remedy: 'check its configuration and its log' } as const;

const proxyAnswers: ReadonlyMap<number, { readonly what: string; readonly remedy: string }> = new Map([
  [408, tooSlow],
  [413, { what: 'refused', remedy: 'raise its body size limit' }],
  [502, noServer],
  [503, noServer],
  [504, tooSlow],
]);

/**
 * Returns why the upload of a body of this size failed, as text for people. The server's own errors are problem documents,
 * so any other error response is from a proxy. The text omits the proxy's HTML page.
 */
export function describeUploadFailure(failure: Failure, bytes: number): string {
  if (failure.kind !== 'unexpected') return describeFailure(failure);
  const { what, remedy } = proxyAnswers.get(failure.status) ?? otherProxyAnswer;
  const upload = `an upload of ${formatBytes(bytes)} (${failure.status})`;
  return `A proxy between this worker and the server ${what} ${upload}: ${remedy} (docs/network.md)`;
}

/** The result of parsing settings: a value, or a message that says how to correct them. */
export type Loaded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

export const fail = (message: string): { readonly ok: false; readonly message: string } => ({
  ok: false,
  message,
});
