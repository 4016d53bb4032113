/** One setting that two configs have otherwise. */
export interface Difference {
  /** `train.optimizer.lr`, with the place in a list in brackets. */
  readonly path: string;
  /** As JSON; null where it is not there. */
  readonly before: string | null;
  readonly after: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is different, setting by setting, in the order of their names. The order in which they were written says nothing. */
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

/** With the names in order, so that the same is the same text. */
const textOf = (value: unknown): string | null =>
  value === undefined
    ? null
    : JSON.stringify(value, (_name, part: unknown) =>
        isObject(part)
          ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
          : part,
      );

export const isSame = (a: unknown, b: unknown): boolean => differences(a, b).length === 0;
