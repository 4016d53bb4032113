import type { SweepValue, SweepValues } from '../../../protocol/job-about.ts';
import type { TrainerConfig } from '../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { SweepAxis } from '../../../protocol/sweep.ts';

/** Returns every combination of the values, in the order of the axes: the last one varies fastest. */
export function gridOf(axes: readonly SweepAxis[]): readonly SweepValues[] {
  let grid: readonly SweepValues[] = [{}];
  for (const { key, values } of axes)
    grid = grid.flatMap(point => values.map(value => ({ ...point, [key]: value })));
  return grid;
}

/**
 * Returns the config with these values. A path that leads through a missing part of the config is refused. A missing key at
 * the end of a path is added: trainers have defaults for keys that a config omits.
 */
export function withValues(config: TrainerConfig, values: SweepValues): Outcome<TrainerConfig> {
  let changed: TrainerConfig = config;
  for (const [path, value] of Object.entries(values)) {
    const next = withValue(changed, resolvePath(changed, path), value);
    if (!isObject(next)) return refuse('config_invalid', `The config has no value "${path}" to vary`);
    changed = next;
  }
  return accept(changed);
}

/** Maximum length of a job's name. */
const maxName = 120;

/** Returns the name of a job of a sweep, such as `flowers lr=0.0001 rank=8`. */
export function sweepName(base: string, values: SweepValues): string {
  const keys = Object.keys(values);
  const short = (key: string): string => {
    const last = lastPart(key);
    return keys.filter(other => lastPart(other) === last).length > 1 ? key : last;
  };
  const parts = Object.entries(values).map(([key, value]) => `${short(key)}=${String(value)}`);
  const rest = parts.join(' ').replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
  const room = maxName - rest.length - 1;
  if (room < 1) return rest.slice(0, maxName).trim();
  return `${base.slice(0, room).trim()} ${rest}`.trim();
}

/** Returns a group for a sweep without one: the config's name and the time of the submission. */
export function sweepGroup(configName: string, iso: string): string {
  const word = configName.replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-').replace(/^[^\p{L}\p{N}]+/u, '');
  const time = iso.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${word.slice(0, 80) || 'sweep'}-${time}`;
}

type Path = readonly string[];

const lastPart = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

/**
 * Returns the keys that lead to a value. SimpleTuner accepts its keys with leading dashes. Kohya's scripts merge the sections of a config,
 * so a key that exactly one section contains needs no section.
 */
function resolvePath(config: TrainerConfig, path: string): Path {
  const bare = path.replace(/^--/, '');
  for (const name of [bare, `--${bare}`]) if (Object.hasOwn(config, name)) return [name];
  const sections = Object.entries(config).filter(([, part]) => isObject(part) && Object.hasOwn(part, bare));
  const [first, ...others] = sections;
  if (first !== undefined && others.length === 0) return [first[0], bare];
  return bare.split('.');
}

/** Returns a copy with the value; null if the path leads nowhere, or to an object or list. */
function withValue(part: unknown, [key = '', ...rest]: Path, value: SweepValue): unknown {
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
  return withValue(item, rest, value) ?? undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
