/** A setting that differs between two configs. */
export interface Difference {
  /** Such as `train.optimizer.lr`; list indexes are in brackets. */
  readonly path: string;
  /** As JSON; null when missing. */
  readonly before: string | null;
  readonly after: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the differences, sorted by setting. Key order in the configs does not matter. */
export function differences(before: unknown, after: unknown, path = ''): readonly Difference[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
    return names.flatMap(name =>
      differences(fieldOf(before, name), fieldOf(after, name), path === '' ? name : `${path}.${name}`),
    );
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((entry: unknown, at) => differences(entry, after[at], `${path}[${at}]`));
  const [was, is] = [textOf(before), textOf(after)];
  return was === is ? [] : [{ path, before: was, after: is }];
}

const fieldOf = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

/** Sorts the keys, so that equal values have equal text. */
const textOf = (value: unknown): string | null =>
  value === undefined
    ? null
    : JSON.stringify(value, (_name, part: unknown) =>
        isObject(part)
          ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
          : part,
      );

export const isSame = (a: unknown, b: unknown): boolean => differences(a, b).length === 0;
