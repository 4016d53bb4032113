import { configValue, partValue, withConfigValue, withPartValue } from './config-path.ts';
import type { TrainerConfig } from './job.ts';
import { plainIssues } from './plain-issue.ts';
import { SubmitRequest } from './submission.ts';
import type { ParameterValue, TemplateParameter, TemplateSubmit } from './template.ts';
import { readValue, type ValueProblem } from './template-values.ts';

/** Returns the text of a file with another value at a path; null if that is impossible. */
export type WriteInFile = (
  file: { readonly path: string; readonly text: string },
  parameter: Pick<TemplateParameter, 'key' | 'type'>,
  value: ParameterValue,
) => string | null;

/** `no_place`: the submission has no value at this key. `refused`: the submission is invalid with the given value. */
export type FillProblem =
  | { readonly key: string; readonly problem: ValueProblem | 'no_place'; readonly message?: never }
  | { readonly key: string; readonly problem: 'refused'; readonly message: string };

export type FilledTemplate =
  | { readonly ok: true; readonly submission: SubmitRequest }
  | { readonly ok: false; readonly problems: readonly FillProblem[] };

interface FilledFrom {
  readonly submission: SubmitRequest;
  readonly parameters: readonly TemplateParameter[];
}

/** Fills in the values, and the user's other fields, such as the name. Returns the new submission, or all problems. */
export function fillTemplate(
  { submission, parameters }: FilledFrom,
  { values, ...own }: Omit<TemplateSubmit, 'idempotency_key'>,
  writeInFile: WriteInFile,
): FilledTemplate {
  const givenValues = new Map(Object.entries(values));
  const problems: FillProblem[] = [...givenValues.keys()]
    .filter(key => !parameters.some(parameter => parameter.key === key))
    .map(key => ({ key, problem: 'unknown' }));
  let filled = submission;
  for (const parameter of parameters) {
    const { key } = parameter;
    const value = readValue(parameter, givenValues.get(key));
    const next = value.ok ? withValue(filled, parameter, value.value, writeInFile) : null;
    if (next !== null) filled = next;
    else problems.push({ key, problem: value.ok ? 'no_place' : value.problem });
  }
  if (problems.length > 0) return { ok: false, problems };
  const tags = [...new Set([...(submission.tags ?? []), ...(own.tags ?? [])])];
  const ownFields = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const whole = SubmitRequest.safeParse(
    { ...filled, ...ownFields, ...(tags.length > 0 && { tags }) },
    plainIssues,
  );
  if (whole.success) return { ok: true, submission: whole.data };
  return {
    ok: false,
    problems: whole.error.issues.map(({ path, message }) => ({
      key: path.join('.'),
      problem: 'refused',
      message,
    })),
  };
}

function withValue(
  submission: SubmitRequest,
  parameter: TemplateParameter,
  value: ParameterValue,
  writeInFile: WriteInFile,
): SubmitRequest | null {
  const { key, document: part, file } = parameter;
  const { config = {}, dataloader, files = {} } = submission;
  switch (part) {
    case 'config': {
      const next = withConfigValue(config, key, likeEarlier(configValue(config, key), value));
      return next && { ...submission, config: next };
    }
    case 'dataloader': {
      const next = withPartValue(dataloader, key, likeEarlier(partValue(dataloader, key), value));
      return isDataloader(next) ? { ...submission, dataloader: next } : null;
    }
    case 'file': {
      const [, text] = Object.entries(files).find(([path]) => path === file) ?? [];
      const next =
        file === null || text === undefined ? null : writeInFile({ path: file, text }, parameter, value);
      return file === null || next === null ? null : { ...submission, files: { ...files, [file]: next } };
    }
    case 'job':
      return { ...submission, [key]: value };
  }
}

/** Converts a number to text if the config has text there. Some trainers split such text, for example a resolution. */
const likeEarlier = (earlier: unknown, value: ParameterValue): ParameterValue =>
  typeof earlier === 'string' && typeof value === 'number' ? String(value) : value;

const isDataloader = (value: unknown): value is unknown[] | TrainerConfig =>
  typeof value === 'object' && value !== null;
