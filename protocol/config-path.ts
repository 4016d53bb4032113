import type { TrainerConfig } from './job.ts';
import type { SweepValue } from './job-about.ts';

/** The keys from the top of a config to a value. Places in lists are written as numbers. */
type Path = readonly string[];

/**
 * Returns the config with another value at a dotted path, such as `config.process.0.train.lr`; null if the path leads
 * through a missing part of the config, or to an object or list. A missing key at the end of a path is added, because
 * trainers have defaults for keys that a config omits.
 */
export function withConfigValue(
  config: TrainerConfig,
  path: string,
  value: SweepValue,
): TrainerConfig | null {
  const next = withValueAt(config, placeOf(config, path), value);
  return isObject(next) ? next : null;
}

/** Returns the value at a dotted path of a config; undefined if there is none. */
export const configValue = (config: TrainerConfig, path: string): unknown =>
  valueAt(config, placeOf(config, path));

/** Like `withConfigValue`, for a dataloader, which may be a list. Its keys have one spelling only. */
export const withPartValue = (part: unknown, path: string, value: SweepValue): unknown =>
  withValueAt(part, path.split('.'), value);

/** Returns the value at a dotted path of a dataloader; undefined if there is none. */
export const partValue = (part: unknown, path: string): unknown => valueAt(part, path.split('.'));

/**
 * Finds the place of a path. SimpleTuner accepts its keys with leading dashes. Kohya's scripts merge the sections of a config,
 * so a key that exactly one section contains needs no section.
 */
function placeOf(config: TrainerConfig, path: string): Path {
  const bare = path.replace(/^--/, '');
  for (const name of [bare, `--${bare}`]) if (Object.hasOwn(config, name)) return [name];
  const sections = Object.entries(config).filter(([, part]) => isObject(part) && Object.hasOwn(part, bare));
  const [[section] = [null]] = sections;
  if (sections.length === 1 && section !== null) return [section, bare];
  return bare.split('.');
}

/** Returns a copy with the value; null if the path leads nowhere, or to an object or list. */
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
