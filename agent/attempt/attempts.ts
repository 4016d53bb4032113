import type { AttemptId } from '../../protocol/ids.ts';

/** A bounded set of attempts that keeps the most recently added ones. */
export interface Attempts {
  add(attemptId: AttemptId): void;
  has(attemptId: AttemptId): boolean;
}

const maxAttempts = 100;

export function rememberAttempts(): Attempts {
  const known = new Set<AttemptId>();
  return {
    add(attemptId) {
      known.delete(attemptId);
      known.add(attemptId);
      for (const oldest of known) if (known.size > maxAttempts) known.delete(oldest);
    },
    has: attemptId => known.has(attemptId),
  };
}
