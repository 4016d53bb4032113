import { existsSync } from 'node:fs';
import { defaultGpuTroubles, Settings, unknownElectricity } from '../../protocol/settings-api.ts';
import { plainIssues } from '../../protocol/plain-issue.ts';
import { refuse } from '../../protocol/problem.ts';
import { readSecret } from './data-folder.ts';
import { type Draft, draftOf } from './whole-file.ts';
import type { LocalWorkerSettings } from './local-worker-plan.ts';

/** Values from flags, environment and config file, and the settings that they fix. */
export interface Given {
  readonly host: string;
  /** True if other machines connect by TLS. */
  readonly isSecure: boolean;
  /** Null when not set. */
  readonly publicUrl: string | null;
  readonly localWorker: LocalWorkerSettings & { readonly enabled: boolean };
  /** Null keeps all rows. */
  readonly auditRetentionDays: number | null;
  readonly fixedBy: Readonly<Partial<Record<Fixable, string>>>;
}

type Fixable =
  | 'host'
  | 'ssl'
  | 'public-url'
  | 'local-worker'
  | 'local-worker-gpus'
  | 'local-worker-trainer'
  | 'local-worker-work-dir'
  | 'audit-retention-days';

/** A setting that a flag, a variable or the config file can fix. */
interface FixableSetting {
  readonly flag: Fixable;
  readonly what: string;
  /** Returns the value of this setting. */
  of(settings: Settings): unknown;
  /** Returns a copy of `to` in which this setting has its value from `from`. */
  copy(to: Settings, from: Settings): Settings;
}

const workerSetting = (flag: Fixable, key: keyof Settings['local_worker'], what: string): FixableSetting => ({
  flag,
  what,
  of: settings => settings.local_worker[key],
  copy: (to, from) => ({ ...to, local_worker: { ...to.local_worker, [key]: from.local_worker[key] } }),
});

const fixableSettings: readonly FixableSetting[] = [
  {
    flag: 'host',
    what: 'The address on which the orchestrator listens',
    of: ({ host }) => host,
    copy: (to, { host }) => ({ ...to, host }),
  },
  {
    flag: 'ssl',
    what: 'TLS for other machines',
    of: ({ tls }) => tls,
    copy: (to, { tls }) => ({ ...to, tls }),
  },
  {
    flag: 'public-url',
    what: 'The public address',
    of: ({ public_url: url }) => url,
    copy: (to, { public_url: url }) => ({ ...to, public_url: url }),
  },
  workerSetting('local-worker', 'enabled', 'The worker on this machine'),
  workerSetting('local-worker-gpus', 'gpus', 'The choice of GPUs of the worker on this machine'),
  workerSetting('local-worker-trainer', 'trainer', 'The trainer of the worker on this machine'),
  workerSetting('local-worker-work-dir', 'work_dir', 'The folder of the worker on this machine'),
  {
    flag: 'audit-retention-days',
    what: 'The retention of the audit trail',
    of: ({ audit_retention_days: days }) => days,
    copy: (to, { audit_retention_days: days }) => ({ ...to, audit_retention_days: days }),
  },
];

const fixedSettings = ({ fixedBy }: Given): readonly FixableSetting[] =>
  fixableSettings.filter(({ flag }) => fixedBy[flag] !== undefined);

const copySettings = (some: readonly FixableSetting[], to: Settings, from: Settings): Settings =>
  some.reduce((settings, setting) => setting.copy(settings, from), to);

/** Returns the settings that apply: each fixed value overrides the stored one. */
export const effectiveSettings = (given: Given, stored: Settings): Settings =>
  copySettings(fixedSettings(given), stored, asSettings(given));

/**
 * Returns the settings to store. A fixed setting keeps its stored value, which applies again once the setting is no longer fixed.
 */
export const toStore = (given: Given, stored: Settings, next: Settings): Settings =>
  copySettings(fixedSettings(given), next, stored);

const asSettings = ({ host, isSecure, publicUrl, localWorker, auditRetentionDays }: Given): Settings => ({
  host,
  tls: isSecure,
  public_url: publicUrl,
  local_worker: {
    enabled: localWorker.enabled,
    gpus: localWorker.gpus,
    trainer: localWorker.trainer,
    work_dir: localWorker.workDir,
  },
  audit_retention_days: auditRetentionDays,
  gpu_troubles: defaultGpuTroubles,
  electricity: unknownElectricity,
});

export type Refused = ReturnType<typeof refuse>;

/** Returns the refusal for a change of a fixed setting; null when the change affects none. */
export function refuseFixed(given: Given, was: Settings, next: Settings): Refused | null {
  const changedSetting = fixedSettings(given).find(setting => setting.of(was) !== setting.of(next));
  return changedSetting === undefined
    ? null
    : refusalOf(changedSetting.what, given.fixedBy[changedSetting.flag] ?? '');
}

const refusalOf = (what: string, by: string): Refused =>
  refuse(
    'setting_fixed',
    `${what} is fixed by ${by}. To change it here, start the orchestrator without ${by}`,
  );

/** Returns the settings of the worker on this machine; null when it is disabled. */
export function effectiveLocalWorker(given: Given, stored: Settings): LocalWorkerSettings | null {
  const { local_worker: worker } = effectiveSettings(given, stored);
  return worker.enabled ? workerSettingsOf(worker) : null;
}

/** Returns the base URL in join commands and sign-in links; null when not set. */
export const effectivePublicUrl = (given: Given, stored: Settings): string | null =>
  effectiveSettings(given, stored).public_url;

/** Returns the number of days that audit rows are kept; null keeps all rows. */
export const effectiveAuditDays = (given: Given, stored: Settings): number | null =>
  effectiveSettings(given, stored).audit_retention_days;

export const workerSettingsOf = ({
  gpus,
  trainer,
  work_dir: workDir,
}: Settings['local_worker']): LocalWorkerSettings => ({ gpus, trainer, workDir });

/** Settings that users change while the server runs. A file stores them. */
export interface SettingsFile {
  readonly settings: Settings;
  /** Writes the settings to disk under a temporary name. They apply after `keep`. Throws with a reason when the write fails. */
  draft(settings: Settings): Draft;
}

/** Settings before the first change. */
const initialSettings: Settings = {
  host: '127.0.0.1',
  tls: false,
  public_url: null,
  local_worker: { enabled: false, gpus: null, trainer: null, work_dir: null },
  audit_retention_days: null,
  gpu_troubles: defaultGpuTroubles,
  electricity: unknownElectricity,
};

/** Reads the settings. This process must hold the folder lock. Throws with a reason when the file is damaged. */
export function openSettingsFile(file: string): SettingsFile {
  let settings = existsSync(file) ? read(file) : initialSettings;
  return {
    get settings() {
      return settings;
    },
    draft(next) {
      const draft = draftOf(file, `${JSON.stringify(next, null, 2)}\n`);
      return {
        drop: draft.drop,
        keep() {
          draft.keep();
          settings = next;
        },
      };
    },
  };
}

/** Throws when others than the owner can access the file, because it may contain a command. */
function read(file: string): Settings {
  const text = readSecret(file);
  const parsed = Settings.safeParse(parseJson(text), plainIssues);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw new Error(
    `${file} is damaged (${where}${issue?.message ?? 'it cannot be read'}). Correct it, or delete it and set the settings ` +
      'in the panel again',
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
