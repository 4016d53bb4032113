import { type Command, InvalidArgumentError, Option } from 'commander';
import { EngineSettings, Hours, NewPool, type PoolView } from '../../../protocol/pool.ts';
import type { Flags } from '../../config.ts';
import { exitCodes, fail } from '../failure.ts';
import { addLabel, decimal, readInput, textOf, timeSpan, wordList } from '../flags.ts';
import { addChange, type LabelChanges } from '../workers/change.ts';

type Values = Readonly<Record<string, unknown>>;
type Kind = 'number' | 'time' | 'words' | 'labels' | 'hours' | 'text';

/** A pool setting as a command-line option. All fields are derived from the API's schema, so that option and API agree. */
interface PoolSetting {
  /** Name in the API. */
  readonly field: string;
  /** Name of the option, without dashes. */
  readonly flag: string;
  readonly kind: Kind;
  readonly isOptional: boolean;
  readonly description: string;
  /** Undefined for a required setting. */
  readonly defaultValue: unknown;
  /** Kinds of engines that have the setting; null for settings of the pool itself. */
  readonly engines: readonly string[] | null;
}

interface Schema {
  readonly def: object;
  readonly description?: string | undefined;
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && 'def' in value && typeof value.def === 'object';

/** Returns the schema and the schemas inside its `default` and `nullable`, outermost first. */
function layersOf(schema: Schema): readonly Schema[] {
  const inner = 'innerType' in schema.def ? schema.def.innerType : null;
  return isSchema(inner) ? [schema, ...layersOf(inner)] : [schema];
}

const typeOf = ({ def }: Schema): string => ('type' in def ? String(def.type) : '');

function kindOf(field: string, type: string): Kind {
  if (type === 'number') return field.endsWith('_s') ? 'time' : 'number';
  if (type === 'array') return 'words';
  if (type === 'object') return 'hours';
  return type === 'string' ? 'text' : 'labels';
}

/** Rewrites a description of the API for the help of an option. */
const plainDescription = (text: string): string =>
  text
    .replace(/\.$/, '')
    .replace(', in seconds', '')
    .replaceAll('`', '')
    .replace(/; null (when|for|to)/, '; "none" $1')
    .replace(/^[A-Z](?=[a-z ])/, first => first.toLowerCase());

/** Option names for settings whose name is already an option of every command. */
const otherFlags: Readonly<Record<string, string>> = { output: 'worker-output' };

function flagOf(field: string, kind: Kind): string {
  const name = kind === 'labels' ? field.replace(/s$/, '') : field.replace(/_s$/, '');
  return otherFlags[name] ?? name.replaceAll('_', '-');
}

function settingOf(field: string, schema: Schema, engines: PoolSetting['engines']): PoolSetting {
  const layers = layersOf(schema);
  const kind = kindOf(field, typeOf(layers.at(-1) ?? schema));
  const { def } = schema;
  return {
    field,
    flag: flagOf(field, kind),
    kind,
    isOptional: layers.some(layer => typeOf(layer) === 'nullable'),
    description: plainDescription(schema.description ?? ''),
    defaultValue: 'defaultValue' in def ? def.defaultValue : undefined,
    engines,
  };
}

const engineShapes: ReadonlyMap<string, Readonly<Record<string, Schema>>> = new Map(
  EngineSettings.options.map(({ shape }) => {
    const { kind, ...fields } = shape;
    return [kind.value, fields];
  }),
);

const engineKinds: readonly string[] = [...engineShapes.keys()];

/** Settings of the engines. Engines that have a setting with the same name share one option. */
const engineSettings: readonly PoolSetting[] = [...engineShapes].flatMap(([kind, fields]) =>
  Object.entries(fields).flatMap(([field, schema]) => {
    const engines = engineKinds.filter(each => Object.hasOwn(engineShapes.get(each) ?? {}, field));
    return engines[0] === kind ? [settingOf(field, schema, engines)] : [];
  }),
);

const { name: _name, engine: _engine, ...limitShape } = NewPool.shape;
const limitSettings: readonly PoolSetting[] = Object.entries(limitShape).map(([field, schema]) =>
  settingOf(field, schema, null),
);

/**
 * All settings of pools, without the name and the kind of the engine.
 *
 * @internal
 */
export const poolSettings: readonly PoolSetting[] = [...engineSettings, ...limitSettings];

const none = 'none';

/** Parses text such as `22:00-06:00 Europe/Berlin mon,tue`. Zone and days are optional. The schema validates each part. */
function parseHours(text: string): Values {
  const [span = '', ...rest] = text.trim().split(/\s+/);
  const [, from, to] = /^([\d:]+)-([\d:]+)$/.exec(span) ?? [];
  const isDays = (word: string): boolean => /^[a-z]{3}(,[a-z]{3})*$/.test(word);
  const [zone, ...others] = rest.filter(word => !isDays(word));
  const [days, ...moreDays] = rest.filter(isDays);
  if (from === undefined || others.length + moreDays.length > 0)
    throw new InvalidArgumentError(
      'Give hours such as "22:00-06:00" or "22:00-06:00 Europe/Berlin mon,tue".',
    );
  return {
    from,
    to,
    ...(days !== undefined && { days: days.split(',') }),
    ...(zone !== undefined && { time_zone: zone }),
  };
}

const parsers: Readonly<Record<Exclude<Kind, 'labels'>, (text: string) => unknown>> = {
  number: decimal,
  time: timeSpan,
  words: text => (text === none ? [] : wordList(text)),
  hours: parseHours,
  text: text => text,
};

const placeholders: Readonly<Record<Kind, string>> = {
  number: 'number',
  time: 'time',
  words: 'names',
  labels: 'key=value',
  hours: 'hours',
  text: 'text',
};

/** Returns the option for a setting. With `isChange`, a label option also accepts `KEY-`, which removes the label. */
function optionOf(setting: PoolSetting, isChange: boolean): Option {
  const { flag, kind, isOptional, description } = setting;
  const before = valueText(setting, setting.defaultValue);
  const notes = [
    kind === 'hours' ? 'such as "22:00-06:00 Europe/Berlin mon,tue"' : null,
    kind === 'labels' ? `${isChange ? 'KEY- removes one; ' : ''}repeatable` : null,
    isChange || before === '' || before === none || kind === 'labels' ? null : `default: ${before}`,
  ].filter(note => note !== null);
  const option = new Option(
    `--${flag} <${placeholders[kind]}>`,
    `${description}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`,
  );
  if (kind === 'labels') return isChange ? option.argParser(addChange) : option.argParser(addLabel);
  const parse = parsers[kind];
  // Keep the text `none` here, because commander would replace null by the default.
  return option.argParser(text => (isOptional && text === none ? none : parse(text)));
}

const titles: Readonly<Record<string, string>> = {
  slurm: 'Slurm',
  kubernetes: 'Kubernetes',
  command: 'Command',
};

const engineList = (engines: readonly string[]): string =>
  engines.map(kind => titles[kind] ?? kind).join(' and ');

/** Adds an option for every setting. */
export function withPoolSettings(command: Command, isChange: boolean): Command {
  command
    .addOption(new Option('--engine <kind>', 'source of the machines').choices(engineKinds))
    .option('--file <file>', 'JSON, YAML or TOML file with settings as in the API, or - for standard input');
  for (const setting of [...limitSettings, ...engineSettings]) {
    const group = setting.engines === null ? 'Limits and settings:' : `${engineList(setting.engines)}:`;
    command.addOption(optionOf(setting, isChange).helpGroup(group));
  }
  return command;
}

const isGiven = (flags: Flags, { flag }: PoolSetting): boolean => flags[flag] !== undefined;

/** Returns true if the user gave no option that changes a pool: no file, engine, new name or setting. */
export const changesNothing = (flags: Flags): boolean =>
  ['engine', 'file', 'name'].every(flag => flags[flag] === undefined) &&
  !poolSettings.some(setting => isGiven(flags, setting));

const isChanges = (value: unknown): value is LabelChanges =>
  typeof value === 'object' && value !== null && 'set' in value && 'removed' in value;

const asObject = (value: unknown): Values => (typeof value === 'object' ? { ...value } : {});

/** Returns the new value of a setting. Label changes are applied to the labels in `before`. */
function valueOf({ flag, field, isOptional }: PoolSetting, flags: Flags, before: Values): unknown {
  const value = flags[flag];
  if (isOptional && value === none) return null;
  if (!isChanges(value)) return value;
  const labels = Object.entries({ ...asObject(before[field]), ...value.set });
  return Object.fromEntries(labels.filter(([key]) => !value.removed.includes(key)));
}

const applyFlags = (settings: readonly PoolSetting[], flags: Flags, before: Values): Values => ({
  ...before,
  ...Object.fromEntries(
    settings
      .filter(setting => isGiven(flags, setting))
      .map(each => [each.field, valueOf(each, flags, before)]),
  ),
});

/** Settings from a file, or the settings that the pool had before a change. */
export interface PoolBase {
  readonly engine: Values;
  readonly settings: Values;
}

/** Combines name, base settings and options into a request body. Ends the command when the result is invalid. */
export function readPool(name: unknown, base: PoolBase, flags: Flags): NewPool {
  const kind = textOf(flags, 'engine') ?? base.engine['kind'];
  if (typeof kind !== 'string') return fail(exitCodes.usage, `--engine: must be ${engineKinds.join(', ')}`);
  const foreign = engineSettings.find(each => isGiven(flags, each) && !(each.engines ?? []).includes(kind));
  if (foreign !== undefined)
    fail(
      exitCodes.usage,
      `--${foreign.flag} is only for ${engineList(foreign.engines ?? [])} pools. The engine of this pool is ${kind}`,
    );
  const earlier = base.engine['kind'] === kind ? base.engine : { kind };
  const names = Object.fromEntries(poolSettings.map(({ field, flag }) => [field, `--${flag}`]));
  const engine = readInput(EngineSettings, applyFlags(engineSettings, flags, earlier), {
    ...names,
    kind: '--engine',
  });
  const settings = applyFlags(limitSettings, flags, base.settings);
  return readInput(NewPool, { ...settings, name, engine }, { ...names, name: 'NAME' });
}

/** Returns the settings that differ from their defaults, written as options. */
export function settingLines({ engine, settings }: Pick<PoolView, 'engine' | 'settings'>): readonly string[] {
  const values: Values = { ...engine, ...settings };
  return poolSettings
    .filter(({ engines }) => engines === null || engines.includes(engine.kind))
    .filter(({ field, defaultValue }) => !isSame(values[field], defaultValue))
    .flatMap(setting => {
      const text = valueText(setting, values[setting.field]);
      const texts = setting.kind === 'labels' ? text.split(' ') : [text];
      return texts.map(each => `--${setting.flag} ${each}`);
    });
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Formats a value in the form that its option accepts. */
function valueText({ kind }: PoolSetting, value: unknown): string {
  if (value === null) return none;
  if (typeof value === 'number') return kind === 'time' ? timeText(value) : String(value);
  if (typeof value === 'string') return value.trim().replaceAll(/\s*\n\s*/g, '; ');
  if (Array.isArray(value)) return value.join(',') || none;
  if (kind === 'hours') return hoursText(Hours.parse(value));
  return Object.entries(asObject(value))
    .map(pair => pair.join('='))
    .join(' ');
}

const hoursText = ({ from, to, days, time_zone: zone }: Hours): string =>
  [`${from}-${to}`, zone, days?.join(',')].filter(part => part !== undefined).join(' ');

function timeText(seconds: number): string {
  if (seconds > 0 && seconds % 3_600 === 0) return `${seconds / 3_600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
