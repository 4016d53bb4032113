import { z } from 'zod';
import { type FlatConfig, differingKeys } from './compare-configs.ts';
import { JobId } from './ids.ts';
import { isSecretName } from './secret-names.ts';

/** Maximum number of jobs in one request, because the server reads the config of each. */
export const maxValueJobs = 100;
/** Maximum number of keys in one request. */
export const maxValueKeys = 8;
/** Maximum number of keys that a response offers. */
const maxOffered = 200;
/** Maximum length of a value as text, in characters. Longer values are cut. */
const maxText = 80;
/** Maximum length of a key (a path in a config) in a request, in characters. */
const maxKey = 200;

const listOf = (max: number, what: string) =>
  z
    .string()
    .transform(text => text.split(',').filter(word => word !== ''))
    .refine(words => words.length <= max, { error: `at most ${max} ${what}` });

export const ConfigValuesQuery = z.object({
  jobs: listOf(maxValueJobs, 'jobs')
    .pipe(z.array(JobId).min(1))
    .describe(`Ids of the jobs, separated by commas; at most ${maxValueJobs}.`),
  keys: listOf(maxValueKeys, 'keys')
    .pipe(z.array(z.string().max(maxKey)))
    .optional()
    .describe(
      `Paths of values in the configs, separated by commas; at most ${maxValueKeys}. Without it, the response has no values.`,
    ),
});

export const ConfigValues = z.object({
  values: z
    .record(JobId, z.record(z.string(), z.string()))
    .describe(
      'By job, the values of these keys as text, cut after 80 characters. Omits keys that a config does not have, and jobs that do not exist.',
    ),
  keys: z
    .array(z.string())
    .describe('Paths at which the configs of these jobs differ; at most 200. Empty if `keys` was given.'),
});

/** Replaces a value that is probably a secret. */
const redacted = '[redacted]';

/** Returns the value at a path as text for a table; undefined if the config has none there. */
export function valueText(config: FlatConfig, key: string): string | undefined {
  if (!config.has(key)) return undefined;
  const value = config.get(key);
  const isFilled = value !== null && value !== '';
  if (isFilled && key.split('.').some(isSecretName)) return redacted;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxText ? `${text.slice(0, maxText - 1)}…` : text;
}

/** Returns the keys in which the configs differ, for table columns. Omits keys that cannot be part of a request. */
export const columnKeys = (configs: readonly FlatConfig[]): readonly string[] =>
  differingKeys(configs)
    .filter(key => !key.includes(',') && key.length <= maxKey)
    .slice(0, maxOffered);
