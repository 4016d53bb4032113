/** Limits of MLflow's REST API (mlflow/utils/validation.py). MLflow refuses the whole request if it exceeds one. */
export const limits = {
  metricsOfBatch: 1_000,
  /** Maximum number of params per request, and the same for tags. */
  pairsOfBatch: 100,
  /** MLflow allows 1,000,000 bytes per request. The difference is for the JSON around the batch. */
  bytesOfBatch: 900_000,
  name: 250,
  paramValue: 6_000,
  tagValue: 5_000,
  experimentName: 500,
} as const;

/** Truncates a text to this many UTF-16 units, without splitting a surrogate pair. */
export const cutTo = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '');

/**
 * Returns a name that MLflow accepts for a metric, param or tag: letters, digits, blanks, and `_ / . -`. MLflow stores some
 * names as paths, so the name must be a plain relative path.
 *
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
 * Maps names to unique names that MLflow accepts. In MLflow's file store, `loss` and `loss/val` would need a file and a folder of
 * the same name. So `loss/val` becomes `loss.val` if `loss` exists.
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

/** Splits a list into batches with at most `maxItems` items, and at most `bytesOfBatch` bytes as JSON. */
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
