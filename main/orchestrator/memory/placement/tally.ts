/** Counts items by owner. */
export interface Tally<K> {
  readonly total: number;
  /** Sets the owner of an item; null stops counting it. */
  set(key: K, owner: string | null): void;
  of(owner: string): number;
  /** Owners with at least one item. */
  owners(): Iterable<string>;
}

export function createTally<K>(): Tally<K> {
  const owners = new Map<K, string>();
  const counts = new Map<string, number>();
  const add = (owner: string, change: number): void => {
    const count = (counts.get(owner) ?? 0) + change;
    if (count > 0) counts.set(owner, count);
    else counts.delete(owner);
  };
  return {
    get total() {
      return owners.size;
    },
    set(key, owner) {
      const before = owners.get(key);
      if (before !== undefined) add(before, -1);
      if (owner === null) owners.delete(key);
      else {
        owners.set(key, owner);
        add(owner, 1);
      }
    },
    of: owner => counts.get(owner) ?? 0,
    owners: () => counts.keys(),
  };
}
