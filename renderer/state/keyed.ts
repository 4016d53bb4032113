/**
 * A persistent map with insertion order. Its versions are immutable and share all unchanged parts, so the cost of a
 * change does not depend on the size of the map.
 */
export interface Keyed<K, V> extends ReadonlyMap<K, V> {
  /** Returns a version with these changes; null removes an entry. Returns this version when there are no changes. */
  with(changes: ReadonlyMap<K, V | null>): Keyed<K, V>;
}

/** A value is undefined when its entry was removed, or when only a later version has it. */
type Chunk<V> = readonly (V | undefined)[];

/** Entries per chunk. A change copies one chunk and the list of chunks; 50,000 entries have about 200 chunks. */
const chunkSize = 256;

/** Creates a map with these entries. If a key occurs twice, the last value counts. */
export function keyed<K, V>(entries: Iterable<readonly [K, V]> = []): Keyed<K, V> {
  const indexes = new Map<K, number>();
  const chunks: V[][] = [];
  for (const [key, value] of new Map(entries)) {
    const index = indexes.size;
    indexes.set(key, index);
    (chunks[Math.floor(index / chunkSize)] ??= []).push(value);
  }
  return version(indexes, chunks, indexes.size);
}

/**
 * Creates a version. All versions share `indexes`, which assigns an index to each key and never reuses one. An entry
 * exists in a version only if the version has a value at that index.
 */
function version<K, V>(
  indexes: Map<K, number>,
  chunks: readonly (Chunk<V> | undefined)[],
  size: number,
): Keyed<K, V> {
  const at = (index: number): V | undefined => chunks[Math.floor(index / chunkSize)]?.[index % chunkSize];
  const get = (key: K): V | undefined => {
    const index = indexes.get(key);
    return index === undefined ? undefined : at(index);
  };
  const entries = (): (readonly [K, V])[] =>
    [...indexes].flatMap(([key, index]) => {
      const value = at(index);
      return value === undefined ? [] : [[key, value] as const];
    });
  const all = once(() => valuesOf(chunks));

  const self: Keyed<K, V> = {
    size,
    get,
    has: key => get(key) !== undefined,
    values: () => all().values(),
    keys: () =>
      entries()
        .map(([key]) => key)
        .values(),
    entries: () =>
      entries()
        .map(([key, value]): [K, V] => [key, value])
        .values(),
    [Symbol.iterator]: () => self.entries(),
    forEach(run) {
      for (const [key, value] of entries()) run(value, key, self);
    },
    with(changes) {
      if (changes.size === 0) return self;
      if (size === 0) return keyed(present(changes));
      const next = chunks.slice();
      const copied = new Map<number, (V | undefined)[]>();
      let count = size;
      for (const [key, value] of changes) {
        const index = indexes.get(key) ?? indexes.size;
        indexes.set(key, index);
        const chunkNumber = Math.floor(index / chunkSize);
        const chunk = copied.get(chunkNumber) ?? [...(next[chunkNumber] ?? [])];
        if (chunk[index % chunkSize] !== undefined) count -= 1;
        if (value !== null) count += 1;
        chunk[index % chunkSize] = value ?? undefined;
        copied.set(chunkNumber, chunk);
        next[chunkNumber] = chunk;
      }
      const changed = version<K, V>(indexes, next, count);
      // Rebuild when most indexes belong to removed entries.
      return indexes.size > 2 * count + chunkSize ? keyed(changed) : changed;
    },
  };
  return self;
}

const present = <K, V>(changes: ReadonlyMap<K, V | null>): (readonly [K, V])[] =>
  [...changes].flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]));

function valuesOf<V>(chunks: readonly (Chunk<V> | undefined)[]): readonly V[] {
  const values: V[] = [];
  for (const chunk of chunks) {
    if (chunk === undefined) continue;
    for (const value of chunk) if (value !== undefined) values.push(value);
  }
  return values;
}

function once<T>(make: () => T): () => T {
  let cached: { readonly value: T } | null = null;
  return () => (cached ??= { value: make() }).value;
}
