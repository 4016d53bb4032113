/** Keeps two from working on one content at a time. */
export interface Locks {
  /** Answers with what releases it; null while somebody else has it. */
  take(name: string): (() => void) | null;
}

export function createLocks(): Locks {
  const taken = new Set<string>();
  return {
    take(name) {
      if (taken.has(name)) return null;
      taken.add(name);
      return () => void taken.delete(name);
    },
  };
}
