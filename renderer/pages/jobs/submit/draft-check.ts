import type { CallFailure, CallInput } from '../../../../protocol/client.ts';
import type { queueApi } from '../../../../protocol/queue-api.ts';
import type { Translator } from '../../../i18n/index.ts';
import type { Draft } from './draft.ts';
import { syntaxErrorText, parseConfig } from './json.ts';

export type SubmitBody = NonNullable<CallInput<typeof queueApi.submit>['body']>;

/** Error messages by the name of the field in the API. */
export type FieldErrors = Readonly<Record<string, string>>;

export type Checked =
  | { readonly ok: true; readonly body: SubmitBody }
  | { readonly ok: false; readonly errors: FieldErrors };

/** Checks the fields that can be checked in the browser; the server checks the others. */
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
    ...toSource(draft, errors, t),
    target: draft.target,
    worker_labels: Object.fromEntries(labels.map(({ key, pattern }) => [key.trim(), pattern.trim()])),
    num_nodes: number('num_nodes', draft.nodes),
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

function toSource(
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
    errors['config'] = syntaxErrorText(parsed, t);
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

const fields = [
  'config_name',
  'config',
  'target',
  'worker_labels',
  'num_nodes',
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

/** Maps the server's errors to fields of the form; null when none of them belongs to a field. */
export function toFieldErrors(failure: CallFailure): FieldErrors | null {
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
