import type { SettingsChange, SettingsView } from '../../../protocol/settings-api.ts';

type Value = boolean | number | string | null;

/** A server setting. `name` is the path of its field in PATCH /api/settings. */
export interface SettingKey {
  readonly name: string;
  readonly kind: 'yes or no' | 'text' | 'number';
  /** If true, "none" removes the value. */
  readonly isOptional: boolean;
  value(view: SettingsView): Value;
  /** Returns the flag or file that overrides the setting; null if none does. */
  fixedBy(view: SettingsView): string | null;
}

type Change = SettingsChange;
type LocalKey = keyof NonNullable<Change['local_worker']>;
type ElectricityKey = keyof NonNullable<Change['electricity']>;
type TroubleKey = keyof NonNullable<Change['gpu_troubles']>;

const localKey = (name: LocalKey, kind: SettingKey['kind']): SettingKey => ({
  name: `local_worker.${name}`,
  kind,
  isOptional: name !== 'enabled',
  value: ({ local_worker: worker }) => worker[name],
  fixedBy: ({ local_worker: worker }) => worker.fixed_by[name],
});

const troubleKey = (name: TroubleKey): SettingKey => ({
  name: `gpu_troubles.${name}`,
  kind: 'yes or no',
  isOptional: false,
  value: ({ gpu_troubles: troubles }) => troubles[name],
  fixedBy: () => null,
});

const electricityKey = (name: ElectricityKey, kind: SettingKey['kind']): SettingKey => ({
  name: `electricity.${name}`,
  kind,
  isOptional: true,
  value: ({ electricity }) => electricity[name],
  fixedBy: () => null,
});

export const settingKeys: readonly SettingKey[] = [
  {
    name: 'shared',
    kind: 'yes or no',
    isOptional: false,
    value: ({ network }) => network.shared,
    fixedBy: ({ network }) => network.fixed_by,
  },
  {
    name: 'host',
    kind: 'text',
    isOptional: false,
    value: ({ network }) => network.host,
    fixedBy: ({ network }) => network.fixed_by,
  },
  {
    name: 'tls',
    kind: 'yes or no',
    isOptional: false,
    value: ({ network }) => network.tls !== null,
    fixedBy: ({ network }) => network.tls_fixed_by,
  },
  {
    name: 'public_url',
    kind: 'text',
    isOptional: true,
    value: view => view.public_url,
    fixedBy: view => view.public_url_fixed_by,
  },
  localKey('enabled', 'yes or no'),
  localKey('gpus', 'text'),
  localKey('trainer', 'text'),
  localKey('work_dir', 'text'),
  {
    name: 'audit_retention_days',
    kind: 'number',
    isOptional: true,
    value: ({ audit }) => audit.retention_days,
    fixedBy: ({ audit }) => audit.fixed_by,
  },
  electricityKey('price_per_kwh', 'number'),
  electricityKey('currency', 'text'),
  troubleKey('missing'),
  troubleKey('errors'),
  troubleKey('held'),
];

/** Formats a value as `settings get` prints it and `settings set` accepts it. */
export function valueText(value: Value): string {
  if (value === true) return 'yes';
  return value === false ? 'no' : String(value ?? 'none');
}

const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['true', true],
  ['on', true],
  ['no', false],
  ['false', false],
  ['off', false],
]);

/** Parses a value. Returns undefined if the setting does not accept it. */
export function valueFrom({ kind, isOptional }: SettingKey, text: string): Value | undefined {
  if (isOptional && text === 'none') return null;
  if (kind === 'yes or no') return switchWords.get(text.toLowerCase());
  if (kind === 'number') return /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : undefined;
  return text;
}

/** Converts `{ 'local_worker.gpus': '0' }` to `{ local_worker: { gpus: '0' } }`. */
export function nestFields(values: ReadonlyMap<string, Value>): Readonly<Record<string, unknown>> {
  const change: Record<string, unknown> = {};
  for (const [name, value] of values) {
    const [outer = '', inner] = name.split('.', 2);
    if (inner === undefined) change[outer] = value;
    else change[outer] = { ...Object(change[outer]), [inner]: value };
  }
  return change;
}
