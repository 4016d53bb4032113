import { z } from 'zod';
import { ArtifactPath } from './artifact.ts';
import { JobId } from './ids.ts';

/** Files of other jobs that a job takes as its input. */

/** Maximum number of inputs of a job. */
const maxInputs = 16;

/** Maximum total number of files in the inputs of a job, because an offer to a worker lists each of them. */
export const maxInputFiles = 1_000;

/** Must be a valid file name on every system, because it is part of a path. Lower-case, because some systems ignore case. */
const InputName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,39}$/,
    'expected a lower-case letter, and then up to 39 lower-case letters, digits, - or _',
  )
  .refine(name => ArtifactPath.safeParse(name).success, 'a name that Windows reserves')
  .describe('Name of the input. The config refers to it as `{{inputs.NAME}}`.');

/** `continues`: the checkpoint must contain the whole training state, so that the job that takes it can continue from it. */
interface CheckpointUse {
  readonly continues?: true;
}

/** Selects a file of a job. */
export type InputFile =
  /** The final model. */
  | { readonly kind: 'result' }
  | ({ readonly kind: 'checkpoint'; readonly which: 'best' | 'newest' } & CheckpointUse)
  | ({ readonly kind: 'checkpoint'; readonly which: 'step'; readonly step: number } & CheckpointUse)
  /** A file, a checkpoint by its name, or a folder with everything in it. */
  | { readonly kind: 'path'; readonly path: string };

/** Parses a user's text, such as `checkpoint best`; returns null when it is invalid. */
export function readInputFile(text: string): InputFile | null {
  const trimmed = text.trim();
  if (trimmed === 'result') return { kind: 'result' };
  const [, word, which] = /^(checkpoint|state)\s+(\S.*)$/.exec(trimmed) ?? [];
  const use: CheckpointUse = word === 'state' ? { continues: true } : {};
  if (which === 'best' || which === 'newest') return { kind: 'checkpoint', which, ...use };
  if (which !== undefined && /^\d{1,12}$/.test(which))
    return { kind: 'checkpoint', which: 'step', step: Number(which), ...use };
  const path = ArtifactPath.safeParse((which ?? trimmed).replace(/^(?:\.\/)+/, '').replace(/\/+$/, ''));
  return path.success ? { kind: 'path', path: path.data } : null;
}

const InputFileText = z
  .string()
  .max(800)
  .transform(text => text.trim())
  .refine(
    text => readInputFile(text) !== null,
    'expected result, checkpoint best, checkpoint newest, checkpoint STEP, the same with state instead of checkpoint, or the name of a file or folder of the job',
  )
  .describe(
    'Which file: `result` (the final model), `checkpoint best`, `checkpoint newest`, `checkpoint 500` (a step), the same with `state` for a checkpoint with the whole state that a trainer continues from, or the name of a file or folder among the files of the job.',
  );

const InputRequest = z.strictObject({
  name: InputName,
  from: JobId.describe(
    'Id of the job that the file is taken from. The job waits for it like for those in `after`.',
  ),
  file: InputFileText.default('result'),
});

/** Fields of a request that submits a job. */
export const inputFields = {
  inputs: z
    .array(InputRequest)
    .min(1)
    .max(maxInputs)
    .refine(all => new Set(all.map(({ name }) => name)).size === all.length, 'the same name is given twice')
    .optional()
    .describe(
      `Files of other jobs that the worker fetches before the trainer starts, at most ${maxInputs}. In the config, \`{{inputs.NAME}}\` stands for the path of each.`,
    ),
} as const;

/** Key of a config. Its value is the path of an input, a checkpoint of another job, from which the trainer continues. */
export const resumeKey = '$resume';

/** Whether the value of `$resume` is an input, or a part of one. */
export const isResumable = (value: unknown): boolean =>
  typeof value === 'string' && /^\{\{ ?inputs\.[^{}\s]{1,100} ?\}\}(?:\/[^{}]*)?$/.test(value);

const placeholder = /\{\{ ?inputs\.([^{}\s]{0,100}) ?\}\}/g;

/** Returns the names in all placeholders of a config, each once. */
export const namesIn = (config: unknown): readonly string[] => [
  ...new Set([...JSON.stringify(config ?? null).matchAll(placeholder)].map(([, name = '']) => name)),
];

/** Copies a config, and replaces each placeholder by the path of its input. Leaves unknown names as they are. */
export function withInputPaths<T>(config: T, paths: ReadonlyMap<string, string>): T {
  const replaced = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replace(placeholder, (text, name: string) => paths.get(name) ?? text);
    if (Array.isArray(value)) return value.map(replaced);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each)]));
  };
  // The copy has the same type, because it differs only inside strings.
  return paths.size === 0 ? config : (replaced(config) as T);
}

/** Whether every trainer reads this path unchanged. Some trainers replace `${NAME}` and `{env:NAME}` by variables of the rig. */
export const isSafeInConfig = (path: string): boolean => !/[${}]/.test(path);

const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256 in lower-case hex.');

/** An input in the offer to a worker. The paths are untrusted on both sides, so each must be valid on every system. */
const OfferedInput = z
  .object({
    name: InputName,
    path: ArtifactPath.refine(isSafeInConfig, 'a name that a trainer could expand').describe(
      'Name of the file or folder that the input consists of.',
    ),
    files: z
      .array(
        z.object({
          path: ArtifactPath.describe('Path of the file: that of the input, or below it.'),
          bytes: z.number().int().min(0).describe('Size in bytes.'),
          sha256,
        }),
      )
      .min(1)
      .max(maxInputFiles)
      .describe('Files of the input.'),
  })
  .refine(
    ({ path, files }) =>
      files.every(file => file.path === path || file.path.startsWith(`${path}/`)) &&
      new Set(files.map(file => file.path)).size === files.length,
    'each file must be the input or below it, and listed once',
  );
export type OfferedInput = Readonly<z.output<typeof OfferedInput>>;

/** A field of an offer. */
export const OfferedInputs = z
  .array(OfferedInput)
  .max(maxInputs)
  .optional()
  .describe('Files of other jobs to fetch before the trainer starts; omitted for none.');

/** A field of a registration. Older agents omit it, and get no job with inputs. */
export const FetchesInputs = z
  .boolean()
  .nullish()
  .catch(null)
  .describe('Whether the agent fetches files of other jobs (`inputs` of an offer).');

export const JobInput = z
  .object({
    name: z.string().describe('Name of the input.'),
    job_id: JobId.describe('Id of the job, as given at the submission.'),
    job_name: z.string().nullable().describe('Name of that job; null when it was deleted.'),
    file: z.string().describe('Which file, as given at the submission.'),
    source: z
      .object({
        job_id: JobId.describe('Id of the job that the file comes from: the one given, or a retry of it.'),
        key: z.string().describe('Key of the file or folder among the files of that job.'),
        step: z.number().nullable().describe('Step of the checkpoint; null for none.'),
        files: z.number().describe('Number of files.'),
        bytes: z.number().describe('Total size of the files in bytes.'),
      })
      .nullable()
      .describe('What the newest attempt got; null before the first attempt.'),
  })
  .meta({ id: 'JobInput', description: 'A file of another job that a job takes as its input.' });
export type JobInput = z.output<typeof JobInput>;
