import type { AttemptId } from '../protocol/ids.ts';

/** The newest attempts of which something was said, a bounded number of them. */
export interface Attempts {
  add(attemptId: AttemptId): void;
  has(attemptId: AttemptId): boolean;
}

const most = 100;

export function rememberAttempts(): Attempts {
  const known = new Set<AttemptId>();
  return {
    add(attemptId) {
      known.delete(attemptId);
      known.add(attemptId);
      for (const oldest of known) if (known.size > most) known.delete(oldest);
    },
    has: attemptId => known.has(attemptId),
  };
}
