import type { TrainerConfig } from './job.ts';
import type { SweepValue } from './job-about.ts';

/** The keys from the top level of a config to a value. List indexes are decimal strings. */
type Path = readonly string[];

/**
 * Returns the config with another value at a dotted path, such as `config.process.0.train.lr`. Returns null if the path
 * leads through a missing part of the config, or to an object or list. Adds a missing key at the end of a path, because
 * trainers have defaults for keys that a config omits.
 */
export function withConfigValue(
  config: TrainerConfig,
  path: string,
  value: SweepValue,
): TrainerConfig | null {
  const next = withValueAt(config, resolvePath(config, path), value);
  return isObject(next) ? next : null;
}

/** Returns the value at a dotted path of a config; undefined if there is none. */
export const configValue = (config: TrainerConfig, path: string): unknown =>
  valueAt(config, resolvePath(config, path));

/** Like `withConfigValue`, for a dataloader, which may be a list. The keys of dataloaders have only one spelling. */
export const withPartValue = (part: unknown, path: string, value: SweepValue): unknown =>
  withValueAt(part, path.split('.'), value);

/** Returns the value at a dotted path of a dataloader; undefined if there is none. */
export const partValue = (part: unknown, path: string): unknown => valueAt(part, path.split('.'));

/**
 * Resolves a dotted path to keys of this config. SimpleTuner accepts its keys with leading dashes. Kohya's scripts merge
 * the sections of a config, so a path may omit the section of a key that only one section contains.
 */
function resolvePath(config: TrainerConfig, path: string): Path {
  const bare = path.replace(/^--/, '');
  for (const name of [bare, `--${bare}`]) if (Object.hasOwn(config, name)) return [name];
  const sections = Object.entries(config).filter(([, part]) => isObject(part) && Object.hasOwn(part, bare));
  const [[section] = [null]] = sections;
  if (sections.length === 1 && section !== null) return [section, bare];
  return bare.split('.');
}

/** Returns a copy of `part` with the value; null if the path leads through a missing part, or to an object or list. */
function withValueAt(part: unknown, [key = '', ...rest]: Path, value: SweepValue): unknown {
  if (Array.isArray(part)) {
    const items: readonly unknown[] = part;
    if (!/^\d{1,6}$/.test(key) || Number(key) >= items.length) return null;
    const item = changedItem(items[Number(key)], rest, value);
    return item === undefined ? null : items.with(Number(key), item);
  }
  if (!isObject(part) || key === '' || key === '__proto__') return null;
  if (!Object.hasOwn(part, key)) return rest.length === 0 ? { ...part, [key]: value } : null;
  const item = changedItem(part[key], rest, value);
  return item === undefined ? null : { ...part, [key]: item };
}

/** Returns the item with the value; undefined if that is impossible. */
function changedItem(item: unknown, rest: Path, value: SweepValue): unknown {
  if (rest.length === 0) return typeof item === 'object' && item !== null ? undefined : value;
  return withValueAt(item, rest, value) ?? undefined;
}

function valueAt(part: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return part;
  if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) return undefined;
  return valueAt(Object.entries(part).find(([name]) => name === key)?.[1], rest);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
