import type { CallFailure, CallInput } from '../../../../protocol/client.ts';
import {
  type FailureCause,
  type JobView,
  type OnLostContact,
  priorities,
  type Target,
  type TrainerConfig,
} from '../../../../protocol/job.ts';
import type { queueApi } from '../../../../protocol/queue-api.ts';
import type { Translator } from '../../../i18n/index.ts';
import { parseConfig } from './json.ts';
import { isSame } from './config-parts.tsx';

export type SubmitBody = NonNullable<CallInput<typeof queueApi.submit>['body']>;

export interface LabelRow {
  /** Local id, so that a row keeps its input field when others are removed. */
  readonly id: number;
  readonly key: string;
  readonly pattern: string;
}

/** The input of a trainer. */
export interface Training {
  readonly config: TrainerConfig;
  /** Null for none. */
  readonly dataloader: unknown;
}

/** A config of the folder, as it was when loaded. */
export interface Base {
  readonly name: string;
  readonly etag: string | null;
  readonly config: TrainerConfig;
}

/** The form's state. Numbers are text, because partial input is not a number. */
export interface Draft {
  readonly source: 'name' | 'inline';
  readonly configName: string;
  readonly config: string;
  /** The dataloader of an inline config; null for none. */
  readonly dataloader: unknown;
  /** The config that the inline config started from. */
  readonly base: Base | null;
  readonly target: Target;
  readonly labels: readonly LabelRow[];
  readonly gpus: string;
  readonly vramGb: string;
  readonly accelerator: string;
  readonly priority: number;
  readonly retries: string;
  readonly timeoutHours: string;
  readonly onLostContact: OnLostContact;
  readonly needsApproval: boolean;
  readonly isNowOrNever: boolean;
  readonly takesAnyGpu: boolean;
  /** Not in the form; a resubmitted job keeps them. */
  readonly retryOn: readonly FailureCause[];
}

export const emptyDraft: Draft = {
  source: 'name',
  configName: '',
  config: '',
  dataloader: null,
  base: null,
  target: 'auto',
  labels: [],
  gpus: '',
  vramGb: '',
  accelerator: '',
  priority: priorities.normal,
  retries: '3',
  timeoutHours: '',
  onLostContact: 'continue',
  needsApproval: false,
  isNowOrNever: false,
  takesAnyGpu: false,
  retryOn: [],
};

/** The server's name for a config without a name. */
const inlineName = 'inline';

/** Returns true when the job's config has a name, which may refer to the folder. */
export const isNamed = ({ config_name: name }: Pick<JobView, 'config_name'>): boolean => name !== inlineName;

/** The config that the job had, and the current config of that name in the folder. Null for one that cannot be read. */
export interface Origins {
  readonly own: Training | null;
  readonly inFolder: (Training & { readonly etag: string | null }) | null;
}

/** Returns a draft that repeats the job with all its settings. */
export function draftOf(job: JobView, origins: Origins): Draft {
  return {
    ...emptyDraft,
    ...configOf(job.config_name, origins),
    target: job.target,
    labels: Object.entries(job.worker_labels).map(([key, pattern], id) => ({ id, key, pattern })),
    gpus: String(job.gpu_count),
    vramGb: job.gpu_vram_gb === 0 ? '' : String(job.gpu_vram_gb),
    accelerator: job.accelerator ?? '',
    priority: job.priority,
    retries: String(job.max_attempts - 1),
    timeoutHours: job.timeout_s === null ? '' : String(job.timeout_s / 3600),
    onLostContact: job.on_lost_contact,
    needsApproval: job.approval !== null,
    retryOn: job.retry_on,
  };
}

/** Uses the config's name only while it still means the job's config; otherwise uses the job's own copy. */
function configOf(name: string, { own, inFolder }: Origins): Partial<Draft> {
  const shown = name === inlineName ? '' : name;
  if (own === null) return { source: shown === '' ? 'inline' : 'name', configName: shown };
  if (inFolder !== null) {
    const { etag, config: base } = inFolder;
    const relation = relationOf(own, inFolder);
    if (relation !== 'other')
      return { source: 'name', configName: name, takesAnyGpu: relation === 'any GPUs' };
    return { ...written(own), configName: name, base: { name, etag, config: base } };
  }
  return { ...written(own), configName: shown };
}

/** Compares the job's config with the current one of that name. For a job on any GPUs, the server removes the device list. */
export function relationOf(own: Training, now: Training): 'same' | 'any GPUs' | 'other' {
  const isOf = (config: TrainerConfig): boolean =>
    isSame([own.config, own.dataloader], [config, now.dataloader]);
  if (isOf(now.config)) return 'same';
  return isOf(withoutDevices(now.config)) ? 'any GPUs' : 'other';
}

/** Returns an inline config to edit in the form. */
export const written = ({
  config,
  dataloader,
}: Training): Pick<Draft, 'source' | 'config' | 'dataloader'> => ({
  source: 'inline',
  config: JSON.stringify(config, null, 2),
  dataloader,
});

const withoutDevices = (config: TrainerConfig): TrainerConfig =>
  Object.fromEntries(
    Object.entries(config).filter(([name]) => !/^(--)?accelerate_visible_devices$/.test(name)),
  );

/** Keyed by the server's field names. */
export type FieldErrors = Readonly<Record<string, string>>;

export type Checked =
  | { readonly ok: true; readonly body: SubmitBody }
  | { readonly ok: false; readonly errors: FieldErrors };

/** Checks what needs no server; the server checks the rest. */
export function checkDraft(draft: Draft, t: Translator): Checked {
  const errors: Record<string, string> = {};
  const number = (field: string, text: string): number | undefined => {
    if (text.trim() === '') return undefined;
    const value = Number(text);
    if (!Number.isFinite(value)) errors[field] = t('jobs.submit.notNumber');
    return value;
  };
  const labels = draft.labels.filter(({ key, pattern }) => key.trim() !== '' || pattern.trim() !== '');
  const keys = labels.map(({ key }) => key.trim());
  if (keys.includes('')) errors['worker_labels'] = t('jobs.submit.labelWithoutKey');
  else if (new Set(keys).size < keys.length) errors['worker_labels'] = t('jobs.submit.labelTwice');
  const hours = number('timeout_s', draft.timeoutHours);
  const body: SubmitBody = {
    ...sourceOf(draft, errors, t),
    target: draft.target,
    worker_labels: Object.fromEntries(labels.map(({ key, pattern }) => [key.trim(), pattern.trim()])),
    gpu_count: number('gpu_count', draft.gpus),
    gpu_vram_gb: number('gpu_vram_gb', draft.vramGb),
    accelerator: draft.accelerator.trim() === '' ? undefined : draft.accelerator.trim(),
    priority: draft.priority,
    max_retries: number('max_retries', draft.retries),
    timeout_s: hours === undefined ? undefined : hours * 3600,
    retry_on: [...draft.retryOn],
    on_lost_contact: draft.onLostContact,
    requires_approval: draft.needsApproval,
    no_wait: draft.isNowOrNever,
    any_gpu: draft.takesAnyGpu,
  };
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, body };
}

function sourceOf(
  draft: Draft,
  errors: Record<string, string>,
  t: Translator,
): Pick<SubmitBody, 'config' | 'config_name' | 'dataloader'> {
  const name = draft.configName.trim();
  if (draft.source === 'name') {
    if (name === '') errors['config_name'] = t('jobs.submit.nameNeeded');
    return { config_name: name };
  }
  const parsed = parseConfig(draft.config);
  if (!parsed.ok) {
    errors['config'] = configTrouble(parsed, t);
    return {};
  }
  return {
    config: parsed.config,
    ...(name === '' ? {} : { config_name: name }),
    ...(Array.isArray(draft.dataloader) || isFields(draft.dataloader)
      ? { dataloader: draft.dataloader }
      : {}),
  };
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

export const configTrouble = (
  parsed: Exclude<ReturnType<typeof parseConfig>, { readonly ok: true }>,
  t: Translator,
): string =>
  parsed.why === 'no object'
    ? t('jobs.submit.notObject')
    : t('jobs.submit.notJson', { line: parsed.line, column: parsed.column });

const fields = [
  'config_name',
  'config',
  'target',
  'worker_labels',
  'gpu_count',
  'gpu_vram_gb',
  'accelerator',
  'priority',
  'max_retries',
  'timeout_s',
  'on_lost_contact',
  'requires_approval',
  'no_wait',
  'any_gpu',
];

/** Assigns the server's errors to fields; null when they concern none of them. */
export function fieldErrorsOf(failure: CallFailure): FieldErrors | null {
  if (failure.kind !== 'problem') return null;
  const { code, detail, errors = [] } = failure.problem;
  if (code === 'config_not_found') return { config_name: detail };
  if (code === 'config_invalid') return { config: detail };
  const found = errors.flatMap(({ field, message }) => {
    const [top = ''] = field.split('.');
    if (!fields.includes(top)) return [];
    const inside = field.slice(top.length + 1);
    return [[top, inside === '' ? message : `${inside}: ${message}`] as const];
  });
  return found.length === 0 || found.length < errors.length ? null : Object.fromEntries(found);
}
