import { withConfigValue } from '../../../../../protocol/config-path.ts';
import { fillTemplate, type FillProblem } from '../../../../../protocol/fill-template.ts';
import type { SubmitRequest } from '../../../../../protocol/submission.ts';
import type { ParameterValue, TemplateDetail, TemplateParameter } from '../../../../../protocol/template.ts';
import { jobParameters } from '../../../../../protocol/template-values.ts';
import { writeInFile } from '../../../../../trainers/index.ts';
import type { FieldErrors } from '../draft-check.ts';
import { type Draft, emptyDraft } from '../draft.ts';
import { type CheckedSweep, checkSweep, noSweep, type SweepDraft, type Typed } from './sweep-values.ts';
import type { TemplateTranslator } from './texts.tsx';

/** Returns the text of a field: the input of the user, or else the default. */
export const textOf = ({ key, default: value }: TemplateParameter, typed: Typed): string =>
  typed[key] ?? (value === null ? '' : String(value));

/** Returns the label of a parameter. Without a label, returns a translated name for a job setting, and otherwise the key. */
export function nameOf(
  { label, key, document }: Pick<TemplateParameter, 'label' | 'key' | 'document'>,
  t: TemplateTranslator,
): string {
  if (label !== null || document !== 'job') return label ?? key;
  return isJobParameter(key) ? t(`templates.job.${key}`) : key;
}

const isJobParameter = (key: string): key is keyof typeof jobParameters => Object.hasOwn(jobParameters, key);

export type CheckedValues =
  | {
      readonly ok: true;
      /** The submission of the job, or of the first job of a sweep. */
      readonly submission: SubmitRequest;
      /** The values that are the same for all jobs. */
      readonly values: Readonly<Record<string, string>>;
      readonly sweep: CheckedSweep;
    }
  | { readonly ok: false; readonly errors: FieldErrors; readonly missing: readonly string[] };

/** Fills the template with the same rules as the server. */
export function checkValues(
  { submission, parameters }: Pick<TemplateDetail, 'submission' | 'parameters'>,
  typed: Typed,
  t: TemplateTranslator,
  draft: SweepDraft = noSweep,
): CheckedValues {
  const sweep = checkSweep({ submission, parameters }, draft, t);
  const given = parameters
    .filter(({ key }) => draft.asked[key] === undefined)
    .map(parameter => [parameter.key, textOf(parameter, typed)] as const);
  const values = Object.fromEntries(given.filter(([, text]) => text.trim() !== ''));
  const { asked, others } = firstsOf(sweep, parameters);
  const filled = fillTemplate(
    {
      submission,
      parameters: parameters.filter(({ key }) => draft.asked[key] === undefined || key in asked),
    },
    { values: { ...values, ...asked }, dry_run: false },
    writeInFile,
  );
  if (filled.ok && Object.keys(sweep.errors).length === 0) {
    const { config = {} } = filled.submission;
    const first = others.reduce(
      (changed, [key, value]) => withConfigValue(changed, key, value) ?? changed,
      config,
    );
    return { ok: true, submission: { ...filled.submission, config: first }, values, sweep };
  }
  const byKey = new Map(parameters.map(parameter => [parameter.key, parameter]));
  const problems = filled.ok ? [] : filled.problems;
  const entries = problems.map(found => [found.key, problemText(found, byKey.get(found.key), t)] as const);
  const missing = problems.filter(({ problem }) => problem === 'missing').map(({ key }) => key);
  return { ok: false, errors: { ...Object.fromEntries(entries), ...sweep.errors }, missing };
}

/** Returns the first value of each axis, separately for parameters (`asked`) and other config keys (`others`). */
function firstsOf({ axes }: CheckedSweep, parameters: readonly TemplateParameter[]) {
  const firsts = axes.flatMap(({ key, values: [first] }) =>
    first === undefined ? [] : [[key, first] as const],
  );
  const isAsked = (key: string): boolean => parameters.some(each => each.key === key);
  const asked: Record<string, ParameterValue> = {};
  for (const [key, value] of firsts) if (isAsked(key) && value !== null) asked[key] = value;
  return { asked, others: firsts.filter(([key]) => !isAsked(key)) };
}

function problemText(
  { problem }: FillProblem,
  parameter: TemplateParameter | undefined,
  t: TemplateTranslator,
): string {
  if (problem === 'unknown') return t('templates.problem.no_place');
  return t(`templates.problem.${problem}`, { min: parameter?.min ?? '', max: parameter?.max ?? '' });
}

/** Returns the first wrong value, or else the names of all missing values, as text; null if there are no problems. */
export function summaryOf(
  checked: CheckedValues,
  parameters: readonly TemplateParameter[],
  t: TemplateTranslator,
): string | null {
  if (checked.ok) return null;
  const name = (key: string): string => {
    const parameter = parameters.find(each => each.key === key);
    if (parameter !== undefined) return nameOf(parameter, t);
    return /^(?:key|other) \d+$/.test(key) ? t('templates.sweep.other') : key;
  };
  const wrong = Object.entries(checked.errors).find(([key]) => !checked.missing.includes(key));
  if (wrong !== undefined) return t('templates.wrongValue', { name: name(wrong[0]), problem: wrong[1] });
  return t('templates.enter', { names: checked.missing.map(name).join(', ') });
}

/** Returns the limits of a parameter as text; null if there are none. */
export function limitsText({ min, max }: TemplateParameter, t: TemplateTranslator): string | null {
  if (min !== null && max !== null) return t('templates.between', { min, max });
  if (min !== null) return t('templates.atLeast', { min });
  return max === null ? null : t('templates.atMost', { max });
}

/** Returns form contents for a submission, so that the user can change all its settings. */
export function draftFrom(name: string, submission: SubmitRequest): Draft {
  const { config = {}, dataloader = null, files = {}, timeout_s: seconds } = submission;
  const text = JSON.stringify(config, null, 2);
  const number = (value: number | undefined): string =>
    value === undefined || value === 0 ? '' : String(value);
  return {
    ...emptyDraft,
    configName: submission.config_name ?? '',
    config: text,
    dataloader,
    files,
    base: { origin: 'job', name, etag: null, text, config, dataloader },
    data: submission.data ?? [],
    name: submission.name ?? '',
    group: submission.group ?? '',
    tags: (submission.tags ?? []).join(' '),
    notes: submission.notes ?? '',
    target: submission.target,
    labels: Object.entries(submission.worker_labels).map(([key, pattern], id) => ({ id, key, pattern })),
    nodes: number(submission.num_nodes),
    gpus: submission.gpu_count === undefined ? '' : String(submission.gpu_count),
    vramGb: number(submission.gpu_vram_gb),
    accelerator: submission.accelerator ?? '',
    priority: submission.priority,
    retries: String(submission.max_retries),
    timeoutHours: seconds === undefined ? '' : String(seconds / 3600),
    onLostContact: submission.on_lost_contact,
    needsApproval: submission.requires_approval,
    isNowOrNever: submission.no_wait,
    takesAnyGpu: submission.any_gpu,
    retryOn: submission.retry_on,
    template: name,
  };
}
