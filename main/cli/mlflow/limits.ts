/** Limits of MLflow's REST API (mlflow/utils/validation.py). A request beyond them is refused as a whole. */
export const limits = {
  metricsOfBatch: 1_000,
  /** Maximum number of params in a request, and also of tags. */
  pairsOfBatch: 100,
  /** MLflow allows 1,000,000; the rest is for the frame of the request. */
  bytesOfBatch: 900_000,
  name: 250,
  paramValue: 6_000,
  tagValue: 5_000,
  experimentName: 500,
} as const;

/** Cuts a text to this many characters, and not within one. */
export const cutTo = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '');

/**
 * Returns a name that MLflow accepts for a metric, param or tag: letters, digits, and `_ / . -` or blanks. It stores some of
 * them as paths, so the name must be a plain relative path.
 * @internal
 */
export function toMlflowName(name: string): string {
  const parts = name
    .replaceAll(/[^\p{L}\p{N}_/.\- ]/gu, '_')
    .split('/')
    .filter(part => part !== '' && part !== '.' && part !== '..');
  const path = cutTo(parts.join('/'), limits.name).replace(/\/+$/, '');
  if (path === '') return '_';
  return path.startsWith('..') ? `_${path.slice(1)}` : path;
}

/**
 * Maps names to different names that MLflow accepts. A name that is also the folder of another one (`loss`, `loss/val`) would be
 * a file and a folder in MLflow's file store, so the other one gets a dot instead of the slash.
 */
export function toMlflowNames(names: readonly string[]): ReadonlyMap<string, string> {
  const paths = names.map(toMlflowName);
  const all = new Set(paths);
  const used = new Set<string>();
  const isBelow = (name: string): boolean =>
    [...name.matchAll(/\//g)].some(({ index }) => all.has(name.slice(0, index)));
  return new Map(
    names.map((name, at) => {
      const path = paths[at] ?? '_';
      const unique = uniqueName(isBelow(path) ? path.replaceAll('/', '.') : path, used);
      used.add(unique);
      return [name, unique];
    }),
  );
}

function uniqueName(name: string, used: ReadonlySet<string>): string {
  let unique = name;
  for (let n = 2; used.has(unique); n += 1) unique = `${name.slice(0, limits.name - 5)}_${n}`;
  return unique;
}

/** Splits a list into batches with at most this many items, and at most this many bytes as JSON. */
export function* batchesOf<T>(items: readonly T[], maxItems: number): Generator<readonly T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (batch.length === maxItems || (batch.length > 0 && bytes + size > limits.bytesOfBatch)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
