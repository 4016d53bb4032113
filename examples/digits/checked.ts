/** A value, or a refusal whose `reason` is a sentence for people, without the final full stop. */
export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

export function accepted<T>(value: T): Checked<T> {
  return { ok: true, value };
}

export function refused(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

/** Returns the message of a failed file operation ("ENOENT: no such file ..."); rethrows any other error. */
export function systemErrorText(error: unknown): string {
  if (error instanceof Error && 'syscall' in error) return error.message;
  throw error;
}
