/** Maps the dotted path of each value in a config, such as `config.process.0.train.lr`, to the value. */
export type FlatConfig = ReadonlyMap<string, unknown>;

/** Flattens a config. A list that contains no objects and no lists counts as one value. */
export function flatten(config: unknown): FlatConfig {
  const flat = new Map<string, unknown>();
  const visit = (value: unknown, path: string): void => {
    const children = isBranch(value) ? Object.entries(value) : [];
    if (children.length === 0 && path !== '') flat.set(path, value);
    for (const [key, child] of children) visit(child, path === '' ? bare(key) : `${path}.${key}`);
  };
  visit(config, '');
  return flat;
}

/** SimpleTuner accepts its keys with and without leading dashes. */
const bare = (key: string): string => key.replace(/^--(?=.)/, '');

const isBranch = (value: unknown): value is object =>
  Array.isArray(value)
    ? value.some(each => typeof each === 'object' && each !== null)
    : typeof value === 'object' && value !== null;

/** Returns the paths at which the configs differ, in the order of their first occurrence. */
export function differingKeys(configs: readonly FlatConfig[]): readonly string[] {
  const keys = new Set(configs.flatMap(config => [...config.keys()]));
  return [...keys].filter(key => new Set(configs.map(config => JSON.stringify(config.get(key)))).size > 1);
}
