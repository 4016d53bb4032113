import { withConfigValue } from '../../../protocol/config-path.ts';
import type { SweepValues } from '../../../protocol/job-about.ts';
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

/** Returns the config with these values. Refuses a path through a missing part of the config. */
export function withValues(config: TrainerConfig, values: SweepValues): Outcome<TrainerConfig> {
  let changed: TrainerConfig = config;
  for (const [path, value] of Object.entries(values)) {
    const next = withConfigValue(changed, path, value);
    if (next === null) return refuse('config_invalid', `The config has no value "${path}" to vary`);
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

/** Returns the default group of a sweep: the config's name and the time of the submission. */
export function sweepGroup(configName: string, iso: string): string {
  const word = configName.replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-').replace(/^[^\p{L}\p{N}]+/u, '');
  const time = iso.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${word.slice(0, 80) || 'sweep'}-${time}`;
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf('.') + 1);
