import { plainIssues } from '../../protocol/plain-issue.ts';
import { exitCodes, fail } from './failure.ts';

interface Schema<T> {
  safeParse(
    value: unknown,
    messages: typeof plainIssues,
  ):
    | { readonly success: true; readonly data: T }
    | {
        readonly success: false;
        readonly error: {
          readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
        };
      };
}

/** Validates flags and arguments against the protocol's schema; ends the command when they are invalid. */
export function readInput<T>(
  schema: Schema<T>,
  value: unknown,
  /** The name of each field for people. */
  names: Readonly<Record<string, string>>,
): T {
  const parsed = schema.safeParse(value, plainIssues);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0] ?? '');
  return fail(exitCodes.usage, `${names[field] ?? field}: ${issue?.message ?? 'not valid'}`);
}
