import { fillTemplate, type FillProblem } from '../../../protocol/fill-template.ts';
import { withConfigValue, withPartValue } from '../../../protocol/config-path.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import type { TemplateParameter, TemplateSubmit } from '../../../protocol/template.ts';
import { isSecretParameter, problemText } from '../../../protocol/template-values.ts';
import { type Bundle, secretsOf, trainerFor, writeInFile } from '../../../trainers/index.ts';
import type { Job, JobPayload } from '../model.ts';

/** Maximum length of a stored submission as JSON, in characters. */
const maxText = 256_000;

/**
 * Returns the submission to store for a new template, without the values of parameters that ask for a secret. Refuses a
 * submission that still contains a secret, that is too large, or that lacks a value that a parameter replaces.
 */
export function checkTemplate(
  givenSubmission: SubmitRequest,
  parameters: readonly TemplateParameter[],
): Outcome<SubmitRequest> {
  let submission = givenSubmission;
  for (const parameter of parameters.filter(isSecretParameter))
    submission = withoutValue(submission, parameter);
  const secrets = secretsOf(submission);
  if (secrets.length > 0)
    return refuse(
      'invalid_request',
      `A template must not contain secrets: remove the value of ${secrets.slice(0, 3).join(', ')}, or ask for it`,
    );
  const { config = {} } = submission;
  const problem = trainerFor(config).problem(config);
  if (problem !== null) return refuse('config_invalid', `The config cannot be used: ${problem}`);
  if (JSON.stringify(submission).length > maxText)
    return refuse('invalid_request', `The config is too large for a template: at most ${maxText / 1000} kB`);
  const sample = Object.fromEntries(parameters.map(parameter => [parameter.key, sampleOf(parameter)]));
  const filled = fillTemplate({ submission, parameters }, { values: sample, dry_run: false }, writeInFile);
  const missing = filled.ok ? undefined : filled.problems.find(each => each.problem === 'no_place');
  return missing === undefined
    ? accept(submission)
    : refuse('config_invalid', `The submission has no value "${missing.key}" to ask for`);
}

/** Returns any allowed value, to find out whether the submission has a value that the parameter replaces. */
const sampleOf = ({ type, default: value, choices: [choice], min, max }: TemplateParameter) =>
  value ?? choice ?? (type === 'boolean' ? true : type === 'text' ? 'x' : (min ?? max ?? 1));

function withoutValue(submission: SubmitRequest, { document: part, key }: TemplateParameter): SubmitRequest {
  if (part === 'config')
    return { ...submission, config: withConfigValue(submission.config ?? {}, key, '') ?? submission.config };
  if (part !== 'dataloader') return submission;
  const next = withPartValue(submission.dataloader, key, '');
  return isFields(next) ? { ...submission, dataloader: next } : submission;
}

/** Fills a template with the values of a request. Refuses invalid values, and names up to five problems. */
export function filledSubmission(
  template: { readonly submission: SubmitRequest; readonly parameters: readonly TemplateParameter[] },
  { idempotency_key: _key, ...request }: TemplateSubmit,
): Outcome<SubmitRequest> {
  const filled = fillTemplate(template, request, writeInFile);
  if (filled.ok) return accept(filled.submission);
  const texts = filled.problems.map(each => `${each.key}: ${textOf(each, template.parameters)}`);
  return refuse('invalid_request', texts.slice(0, 5).join('; '));
}

function textOf({ key, problem, message }: FillProblem, parameters: readonly TemplateParameter[]): string {
  if (message !== undefined) return message;
  const parameter = parameters.find(each => each.key === key);
  if (parameter === undefined) return 'the template does not ask for this value';
  return problem === 'no_place' ? 'the submission has no such value' : problemText(parameter, problem);
}

/** Returns a submission with the requirements and config of a job, but without its name, tags and notes. */
export function submissionOfJob({ spec, rank, approval }: Job, payload: JobPayload): SubmitRequest {
  const { requirements, timeoutMs, configName } = spec;
  const base: SubmitRequest = {
    ...(configName !== 'inline' && { config_name: configName }),
    ...(payload.data !== undefined && {
      data: payload.data.map(({ path, version, is_file }) => ({ path, version, is_file })),
    }),
    target: requirements.target,
    worker_labels: requirements.labels,
    gpu_count: requirements.gpuCount,
    ...(requirements.nodes !== undefined && { num_nodes: requirements.nodes }),
    gpu_vram_gb: requirements.vramGb,
    ...(requirements.accelerator !== null && { accelerator: requirements.accelerator }),
    priority: rank.priority,
    max_retries: spec.maxRetries,
    retry_on: [...spec.retryOn],
    on_lost_contact: spec.onLostContact,
    ...(timeoutMs !== null && { timeout_s: timeoutMs / 1000 }),
    requires_approval: approval !== null,
    no_wait: false,
    any_gpu: false,
    dry_run: false,
  };
  return withBundle(base, payload);
}

/** Returns the submission with a copy of the bundle's config, dataloader and files. */
export const withBundle = (
  submission: SubmitRequest,
  { config, dataloader, files }: Bundle,
): SubmitRequest => ({
  ...submission,
  config,
  ...(isFields(dataloader) && { dataloader }),
  ...(Object.keys(files).length > 0 && { files: { ...files } }),
});

const isFields = (value: unknown): value is Record<string, unknown> | unknown[] =>
  typeof value === 'object' && value !== null;
