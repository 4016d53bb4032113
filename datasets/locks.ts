/** Lets only one caller at a time work on a content. */
export interface Locks {
  /** Returns a function that releases the lock; null while another caller has it. */
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
