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

/** What a call takes, made of flags and arguments; ends the command when the contract does not allow it. */
export function readInput<T>(
  schema: Schema<T>,
  value: unknown,
  /** What people call a field. */
  names: Readonly<Record<string, string>>,
): T {
  const parsed = schema.safeParse(value, plainIssues);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = String(issue?.path[0] ?? '');
  return fail(exitCodes.usage, `${names[field] ?? field}: ${issue?.message ?? 'not valid'}`);
}
