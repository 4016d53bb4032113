import { type EngineSettings, type Hours, NewPool, type PoolView } from '../../../protocol/pool.ts';
import { Labels } from '../../../protocol/text.ts';
import type { PoolKey } from '../../i18n/en/pools.ts';
import { formatLabels, parseLabels } from '../workers/labels.tsx';
import { allDays, type Weekday } from './pool-facts.ts';

export type EngineKind = EngineSettings['kind'];
type FieldName = Extract<PoolKey, `pools.field.${string}`> extends `pools.field.${infer Name}` ? Name : never;
type HintName = Extract<PoolKey, `pools.hint.${string}`> extends `pools.hint.${infer Name}` ? Name : never;

/** A field of the form. An empty field with `isOptional` means null. */
export interface FieldSpec {
  readonly name: FieldName;
  readonly kind: 'text' | 'number' | 'hours' | 'labels' | 'list' | 'lines';
  readonly isOptional?: true;
  readonly hint?: HintName;
}

const text = (name: FieldName, hint?: HintName): FieldSpec => ({
  name,
  kind: 'text',
  ...(hint !== undefined && { hint }),
});
const number = (name: FieldName, hint?: HintName): FieldSpec => ({ ...text(name, hint), kind: 'number' });
const optional = (field: FieldSpec): FieldSpec => ({ ...field, isOptional: true });

export const engineFields: Readonly<Record<EngineKind, readonly FieldSpec[]>> = {
  slurm: [
    optional(text('login', 'login')),
    optional(text('partition', 'default')),
    optional(text('account', 'default')),
    optional(text('qos', 'default')),
    optional(text('gpu_type', 'any')),
    optional(text('constraint', 'any')),
    optional(number('cpus_per_gpu', 'default')),
    optional(number('memory_gb', 'default')),
  ],
  kubernetes: [
    text('image', 'image'),
    optional(text('context', 'default')),
    text('namespace'),
    optional(text('queue', 'kueue')),
    text('gpu_resource'),
    optional(text('service_account', 'default')),
    optional(number('cpus', 'default')),
    optional(number('memory_gb', 'default')),
    { name: 'node_selector', kind: 'labels', hint: 'labels' },
  ],
  command: [text('programs', 'programs')],
};

export const machineFields: readonly FieldSpec[] = [
  number('gpus'),
  number('vram_gb', 'vram'),
  number('nodes'),
  { name: 'wall_time_h', kind: 'hours', hint: 'wallTime' },
];

export const limitFields: readonly FieldSpec[] = [
  number('max_launches'),
  optional(number('max_gpus', 'unlimited')),
  optional(number('gpu_hours_per_day', 'budget')),
  optional(number('price_per_gpu_hour', 'price')),
];

export const advancedFields: readonly FieldSpec[] = [
  number('max_waiting'),
  number('after_s', 'after'),
  number('idle_s'),
  number('join_s'),
  optional(number('notice_s', 'notice')),
  number('warm', 'warm'),
  optional(text('accelerator', 'any')),
  { name: 'trainers', kind: 'list', isOptional: true, hint: 'trainers' },
  { name: 'config_keys', kind: 'list', hint: 'list' },
  optional(text('worker_program', 'program')),
  { name: 'labels', kind: 'labels', hint: 'labels' },
  { name: 'setup', kind: 'lines', hint: 'setup' },
  { name: 'worker_options', kind: 'lines', hint: 'options' },
];

const settingFields = [...machineFields, ...limitFields, ...advancedFields];

/** The contents of the form, as typed text. */
export interface Draft {
  readonly kind: EngineKind;
  readonly values: Readonly<Record<string, string>>;
  readonly hours: HoursDraft;
}

export interface HoursDraft {
  readonly isLimited: boolean;
  readonly from: string;
  readonly to: string;
  readonly zone: string;
  readonly days: readonly Weekday[];
}

/** Returns a draft with the defaults of the server's schema. `zone` is the time zone of the browser. */
export function emptyDraft(zone: string): Draft {
  // The schema requires a name and an engine, so pass placeholders and drop them again.
  const {
    name: _name,
    engine: _engine,
    ...settings
  } = NewPool.parse({
    name: 'pool',
    engine: { kind: 'command', programs: 'pool' },
  });
  return {
    kind: 'slurm',
    values: { namespace: 'default', gpu_resource: 'nvidia.com/gpu', ...toValues(settings) },
    hours: toHoursDraft(null, zone),
  };
}

export function toDraft({ name, engine, settings }: PoolView, zone: string): Draft {
  const { kind, ...fields } = engine;
  return {
    kind,
    values: { ...emptyDraft(zone).values, ...toValues(settings), ...toValues(fields), name },
    hours: toHoursDraft(settings.hours, zone),
  };
}

const toHoursDraft = (hours: Hours | null, zone: string): HoursDraft => ({
  isLimited: hours !== null,
  from: hours?.from ?? '20:00',
  to: hours?.to ?? '08:00',
  zone: hours?.time_zone ?? zone,
  days: hours?.days ?? allDays,
});

function toValues(settings: object): Readonly<Record<string, string>> {
  const values = Object.entries(settings).map(([name, value]: [string, unknown]): [string, string] => {
    if (name === 'wall_time_s') return ['wall_time_h', String(Number(value) / 3_600)];
    if (Array.isArray(value)) return [name, value.join(', ')];
    const labels = Labels.safeParse(value);
    if (labels.success) return [name, formatLabels(labels.data)];
    return [name, typeof value === 'string' || typeof value === 'number' ? String(value) : ''];
  });
  return Object.fromEntries(values);
}

type ErrorName = Extract<PoolKey, `pools.error.${string}`> extends `pools.error.${infer Name}` ? Name : never;

/** The error of a field. */
export interface FieldError {
  readonly name: ErrorName;
  readonly values?: Readonly<Record<string, string | number>>;
}
/** Errors by the names of the fields. The fields for hours are `from`, `to`, `zone` and `days`. */
export type FieldErrors = Readonly<Record<string, FieldError>>;

export type Checked =
  | { readonly ok: true; readonly body: NewPool }
  | { readonly ok: false; readonly errors: FieldErrors };

/** Converts the draft to a request, and checks it with the server's schema. */
export function checkDraft({ kind, values, hours }: Draft): Checked {
  const errors: Record<string, FieldError> = {};
  const read = (fields: readonly FieldSpec[]) =>
    Object.fromEntries(fields.map(field => [toApiName(field.name), valueOf(field, values, errors)]));
  const parsed = NewPool.safeParse({
    ...read(settingFields),
    name: (values['name'] ?? '').trim(),
    engine: { kind, ...read(engineFields[kind]) },
    hours: hours.isLimited ? toHours(hours) : null,
  });
  for (const issue of parsed.error?.issues ?? []) {
    const name = fieldOf(issue.path);
    errors[name] ??= errorOf(name, issue);
  }
  return parsed.success && Object.keys(errors).length === 0
    ? { ok: true, body: parsed.data }
    : { ok: false, errors };
}

const toApiName = (name: string): string => (name === 'wall_time_h' ? 'wall_time_s' : name);

function valueOf(
  { name, kind, isOptional }: FieldSpec,
  values: Draft['values'],
  errors: Record<string, FieldError>,
): unknown {
  const typed = values[name] ?? '';
  const trimmed = typed.trim();
  const words = trimmed.split(',').map(word => word.trim());
  const isEmpty = trimmed === '';
  switch (kind) {
    case 'lines':
      return typed;
    case 'text':
      return isEmpty && isOptional === true ? null : trimmed;
    case 'number':
      if (!isEmpty) return Number(trimmed);
      return isOptional === true ? null : Number.NaN;
    case 'hours':
      return isEmpty ? Number.NaN : Math.round(Number(trimmed) * 3_600);
    case 'list':
      return isEmpty && isOptional === true ? null : words.filter(word => word !== '');
    case 'labels': {
      const parsed = parseLabels(typed);
      if (parsed.ok) return parsed.labels;
      errors[name] = { name: 'labels', values: { line: parsed.line } };
      return {};
    }
  }
}

const toHours = ({ from, to, zone, days }: HoursDraft) => ({
  from,
  to,
  time_zone: zone.trim(),
  ...(days.length < allDays.length && { days: allDays.filter(day => days.includes(day)) }),
});

interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly input?: unknown;
  readonly expected?: unknown;
  readonly origin?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
}

function fieldOf([first, second]: Issue['path']): string {
  if (first === 'engine') return String(second ?? 'kind');
  if (first === 'hours') return second === 'time_zone' ? 'zone' : String(second ?? 'to');
  return first === 'wall_time_s' ? 'wall_time_h' : String(first ?? 'name');
}

const byField: Readonly<Record<string, ErrorName>> = {
  name: 'name',
  programs: 'programs',
  from: 'time',
  zone: 'zone',
  days: 'days',
};

function errorOf(field: string, issue: Issue): FieldError {
  const scale = field === 'wall_time_h' ? 3_600 : 1;
  const { code, origin } = issue;
  if (field === 'to') return { name: code === 'custom' ? 'sameHours' : 'time' };
  const nameOfField = byField[field];
  if (nameOfField !== undefined) return { name: nameOfField };
  if (code === 'invalid_type') return { name: issue.expected === 'int' ? 'whole' : 'number' };
  if (code === 'too_small' && origin === 'string') return { name: 'required' };
  if (code === 'too_small') return { name: 'min', values: { min: Number(issue.minimum) / scale } };
  if (code === 'too_big' && (origin === 'number' || origin === 'int'))
    return { name: 'max', values: { max: Number(issue.maximum) / scale } };
  return { name: code === 'too_big' ? 'long' : 'word' };
}
