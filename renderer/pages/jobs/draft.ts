import type { CallFailure, CallInput } from '../../../protocol/client.ts';
import {
  type FailureCause,
  type JobView,
  type OnLostContact,
  priorities,
  type Target,
} from '../../../protocol/job.ts';
import type { queueApi } from '../../../protocol/queue-api.ts';
import type { Translator } from '../../i18n/index.ts';
import { parseConfig } from './json.ts';

export type SubmitBody = NonNullable<CallInput<typeof queueApi.submit>['body']>;

export interface LabelRow {
  /** Of this page alone, so that a row keeps its field while others go. */
  readonly id: number;
  readonly key: string;
  readonly pattern: string;
}

type PriorityName = keyof typeof priorities;

/** A job as it stands in the form: numbers are text, because half of a number is none. */
export interface Draft {
  readonly source: 'name' | 'inline';
  readonly configName: string;
  readonly config: string;
  readonly target: Target;
  readonly labels: readonly LabelRow[];
  readonly gpus: string;
  readonly vramGb: string;
  readonly accelerator: string;
  readonly priority: PriorityName;
  readonly retries: string;
  readonly timeoutHours: string;
  readonly onLostContact: OnLostContact;
  readonly needsApproval: boolean;
  readonly isNowOrNever: boolean;
  readonly takesAnyGpu: boolean;
  /** Not in the form; a job that is submitted again keeps them. */
  readonly retryOn: readonly FailureCause[];
}

export const emptyDraft: Draft = {
  source: 'name',
  configName: '',
  config: '',
  target: 'auto',
  labels: [],
  gpus: '',
  vramGb: '',
  accelerator: '',
  priority: 'normal',
  retries: '3',
  timeoutHours: '',
  onLostContact: 'continue',
  needsApproval: false,
  isNowOrNever: false,
  takesAnyGpu: false,
  retryOn: [],
};

/** The server calls a config so that came without a name: what was in it can not be read back. */
const inlineName = 'inline';

export function draftOf(job: JobView): Draft {
  const isInline = job.config_name === inlineName;
  return {
    ...emptyDraft,
    source: isInline ? 'inline' : 'name',
    configName: isInline ? '' : job.config_name,
    target: job.target,
    labels: Object.entries(job.worker_labels).map(([key, pattern], id) => ({ id, key, pattern })),
    gpus: String(job.gpu_count),
    vramGb: job.gpu_vram_gb === 0 ? '' : String(job.gpu_vram_gb),
    accelerator: job.accelerator ?? '',
    priority: priorityNamed(job.priority_name),
    retries: String(job.max_attempts - 1),
    timeoutHours: job.timeout_s === null ? '' : String(job.timeout_s / 3600),
    onLostContact: job.on_lost_contact,
    needsApproval: job.approval !== null,
    retryOn: job.retry_on,
  };
}

const priorityNamed = (word: string): PriorityName =>
  word === 'low' || word === 'high' || word === 'urgent' || word === 'critical' ? word : 'normal';

/** By the fields of the call, as the server names them. */
export type FieldErrors = Readonly<Record<string, string>>;

export type Checked =
  | { readonly ok: true; readonly body: SubmitBody }
  | { readonly ok: false; readonly errors: FieldErrors };

/** What can be seen without the server: it checks everything else. */
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
    priority: priorities[draft.priority],
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
): Pick<SubmitBody, 'config' | 'config_name'> {
  const name = draft.configName.trim();
  if (draft.source === 'name') {
    if (name === '') errors['config_name'] = t('jobs.submit.nameNeeded');
    return { config_name: name };
  }
  const parsed = parseConfig(draft.config);
  if (parsed.ok) return { config: parsed.config, ...(name === '' ? {} : { config_name: name }) };
  errors['config'] = configTrouble(parsed, t);
  return {};
}

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

/** What the server finds fault with, beside the field that it is about; null when it is about none of them. */
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
