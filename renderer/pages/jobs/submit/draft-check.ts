import type { CallFailure, CallInput } from '../../../../protocol/client.ts';
import type { queueApi } from '../../../../protocol/queue-api.ts';
import { type ReadText, readText } from './config-text.ts';
import { type Draft, fileOf, isFolderConfig } from './draft.ts';
import type { SubmitTranslator } from './texts.tsx';

export type SubmitBody = NonNullable<CallInput<typeof queueApi.submit>['body']>;

/** Error messages by the name of the field in the API. */
export type FieldErrors = Readonly<Record<string, string>>;

/** Props of the components that make up the form. */
export interface PartProps {
  readonly draft: Draft;
  readonly errors: FieldErrors;
  readonly change: (part: Partial<Draft>) => void;
}

export type Checked =
  | { readonly ok: true; readonly body: SubmitBody }
  | { readonly ok: false; readonly errors: FieldErrors };

/** Checks fields in the browser where possible, and converts the form to a request. The server checks the other fields. */
export function checkDraft(draft: Draft, t: SubmitTranslator): Checked {
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
  const inputs = draft.inputs.map(input => ({
    name: input.name.trim(),
    from: input.from,
    file: fileOf(input),
  }));
  if (inputs.some(({ name, file }) => name === '' || file === '')) errors['inputs'] = t('submit.inputNeeded');
  const hours = number('timeout_s', draft.timeoutHours);
  const tags = draft.tags.split(/[\s,]+/).filter(tag => tag !== '');
  const body: SubmitBody = {
    ...toSource(draft, errors, t),
    ...(draft.data.length > 0 && { data: [...draft.data] }),
    ...(draft.name.trim() !== '' && { name: draft.name.trim() }),
    ...(draft.group.trim() !== '' && { group: draft.group.trim() }),
    ...(tags.length > 0 && { tags: [...new Set(tags)] }),
    ...(draft.notes.trim() !== '' && { notes: draft.notes }),
    ...(draft.after.length > 0 && { after: [...draft.after], after_on: draft.afterOn }),
    ...(inputs.length > 0 && { inputs }),
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
  t: SubmitTranslator,
): Pick<SubmitBody, 'config' | 'config_name' | 'dataloader' | 'files'> {
  const name = draft.configName.trim();
  const isEmpty = draft.config.trim() === '';
  if (isEmpty && name === '') errors['config_name'] = t('submit.configNeeded');
  if (isEmpty || isFolderConfig(draft)) return { config_name: name };
  const read = readText(draft.config, draft.format);
  if (!read.ok) {
    errors['config'] = errorText(read, draft.format, t);
    return {};
  }
  return { ...toInlineSource(draft), ...(name === '' ? {} : { config_name: name }) };
}

/** Returns the config, dataloader and files of the form. Returns an empty object if the text is not a valid config. */
export function toInlineSource(draft: Draft): Pick<SubmitBody, 'config' | 'dataloader' | 'files'> {
  const read = readText(draft.config, draft.format);
  if (draft.config.trim() === '' || !read.ok) return {};
  return {
    config: read.config,
    ...(isFields(draft.dataloader) ? { dataloader: draft.dataloader } : {}),
    ...(Object.keys(draft.files).length > 0 && { files: { ...draft.files } }),
  };
}

/** Returns a message that explains why a text is not a config, with the position of a syntax error. */
export function errorText(
  read: Exclude<ReadText, { readonly ok: true }>,
  format: Draft['format'],
  t: SubmitTranslator,
): string {
  const name = format.toUpperCase();
  if (read.why === 'no object') return t('submit.notObject');
  const { line, column } = read;
  return line === null
    ? t('submit.invalid', { format: name })
    : t('submit.invalidAt', { format: name, line, column });
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const fields = [
  'config_name',
  'config',
  'name',
  'group',
  'tags',
  'notes',
  'after',
  'inputs',
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

/** Maps the server's errors to fields of the form. Returns null if an error belongs to no field. */
export function toFieldErrors(failure: CallFailure): FieldErrors | null {
  if (failure.kind !== 'problem') return null;
  const { code, detail, errors = [] } = failure.problem;
  if (code === 'config_not_found') return { config_name: detail };
  if (code === 'config_invalid') return { config: detail };
  if (code === 'job_not_found') return { after: detail };
  if (code === 'artifact_not_found') return { inputs: detail };
  const fieldErrors = errors.flatMap(({ field, message }) => {
    const [top = ''] = field.split('.');
    if (!fields.includes(top)) return [];
    const inside = field.slice(top.length + 1);
    return [[top, inside === '' ? message : `${inside}: ${message}`] as const];
  });
  return fieldErrors.length === 0 || fieldErrors.length < errors.length
    ? null
    : Object.fromEntries(fieldErrors);
}
