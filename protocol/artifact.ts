import { z } from 'zod';
import { JobId } from './ids.ts';

const artifactKinds = ['checkpoint', 'sample_image', 'final_model', 'other'] as const;
const ArtifactKind = z.enum(artifactKinds).describe('Kind of the file, guessed from its key.');
export type ArtifactKind = z.infer<typeof ArtifactKind>;

/** Limits of a key: the number of names, and the total number of characters. */
const maxSegments = 16;
const maxKey = 700;
/** Limit of a name in bytes of UTF-8; file systems allow 255. */
const maxSegment = 200;

/** Names that Windows reserves, with any extension. */
const reserved = /^(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])(?:\.|$)/i;
/**
 * Characters that an operating system forbids in file names, and invisible characters. Also percent escapes, because other
 * programs may decode them to such characters.
 */
const unsafe = /[<>:"/\\|?*\p{C}\p{Zl}\p{Zp}]|%[0-9a-f]{2}/iu;

/** Returns why a name is not valid as a file name on every system; null when it is valid. */
function segmentFlaw(segment: string): string | null {
  if (segment === '') return 'a name is empty';
  if (new TextEncoder().encode(segment).length > maxSegment)
    return `a name is longer than ${maxSegment} bytes`;
  if (unsafe.test(segment)) return 'a name contains a character that file names must not contain';
  if (/^\s|[\s.]$/u.test(segment)) return 'a name starts with a space, or ends with a space or a dot';
  return reserved.test(segment) ? 'a name is reserved by Windows' : null;
}

export const ArtifactKey = z
  .array(z.string())
  .transform((parts, context): string => {
    const segments = parts.map(part => part.normalize('NFC'));
    const key = segments.join('/');
    const flaw =
      segments.length === 0 || segments.length > maxSegments || key.length > maxKey
        ? `it must have 1 to ${maxSegments} names and at most ${maxKey} characters`
        : segments.map(segmentFlaw).find(found => found !== null);
    if (flaw) context.addIssue({ code: 'custom', message: `not a valid file name: ${flaw}` });
    return key;
  })
  .describe('Key of a file: up to 16 names separated by slashes, at most 700 characters.');

export const ArtifactPath = z
  .string()
  .max(maxKey)
  .transform(path => path.split('/'))
  .pipe(ArtifactKey)
  .describe('Key of a file: up to 16 names separated by slashes, at most 700 characters.');

const image = /\.(?:png|jpe?g|webp|gif|avif|bmp|tiff?|mp4|webm|mov)$/i;
const checkpoint =
  /(?:^|\/)(?:[^/]*[-_.])?(?:checkpoint|ckpt)(?:$|[-_./\d])|[-_](?:step|epoch)[-_=]?\d+(?:$|[-_./])/i;
const optimizer = /(?:^|\/)optimizer\.(?:pt|bin)$/i;
const model = /\.(?:safetensors|ckpt|pth?|bin|gguf|onnx)$/i;

/** Guesses the kind of an artifact from its key. */
export function kindOf(key: string): ArtifactKind {
  if (image.test(key)) return 'sample_image';
  // A `.ckpt` extension alone denotes a model format, not a checkpoint.
  if (checkpointOf(key) !== null || checkpoint.test(key.replace(/\.ckpt$/i, ''))) return 'checkpoint';
  return model.test(key) && !optimizer.test(key) ? 'final_model' : 'other';
}

/**
 * Name of the last file that is uploaded for a checkpoint folder. Its presence confirms that all other files are
 * complete. It contains a `CheckpointManifest` as JSON. A checkpoint that is a single file has no manifest.
 */
export const manifestName = 'checkpoint-manifest.json';

/** Files of a checkpoint folder; paths are relative to it. */
export const CheckpointManifest = z.object({
  files: z
    .array(
      z.object({
        path: z.string().min(1).max(maxKey).describe('Path relative to the folder.'),
        bytes: z.number().int().min(0).describe('Size in bytes.'),
        sha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .describe('SHA-256 in lower-case hex.'),
      }),
    )
    .min(1)
    .max(10_000)
    .describe('Files of the checkpoint folder.'),
});
export type CheckpointManifest = z.output<typeof CheckpointManifest>;

/**
 * Checkpoint files with a step: `checkpoint-000500.bin`, `epoch=3-step=500.ckpt` (Lightning), `mine-step00000500.safetensors`
 * (sd-scripts), `mine_000000250.safetensors` (ai-toolkit), `...-save-500-2-0.safetensors` (OneTrainer: steps, epochs, steps of
 * the epoch).
 */
const stepOfFile =
  /(?:^|[-_.])(?:checkpoint|ckpt|step)s?[-_=]?(\d{1,12})(?=$|[-_.])|_(\d{9})\.(?:safetensors|pt)$|-save-(\d{1,12})-\d+-\d+(?=$|\.)/i;
/** Checkpoint files with an epoch: `mine-epoch-3.pt`, `mine-000001.safetensors` (sd-scripts). */
const epochOfFile = /(?:^|[-_.])epochs?[-_=]?\d{1,12}(?=$|[-_.])|-\d{6}\.(?:safetensors|ckpt|pt)$/i;
/**
 * Checkpoint folders with a step: `checkpoint-500`, `mine-step00000500-state` (sd-scripts), `mine_000000250` (ai-toolkit),
 * `...-backup-500-2-0` (OneTrainer). Folders of samples may also contain a step.
 */
const stepOfFolder =
  /(?:^|[-_.])(?:checkpoint|ckpt)s?[-_=]?(\d{1,12})(?=$|[-_.])|[-_]step(\d{1,12})-state$|_(\d{9})$|-backup-(\d{1,12})-\d+-\d+$/i;
/** Checkpoint folders with an epoch: `mine-000010-state` (sd-scripts). */
const epochOfFolder = /[-_]\d{1,12}-state$/i;

/**
 * Returns the keys of files that a trainer stores beside a checkpoint and needs to resume from it. ai-toolkit keeps one optimizer
 * state for all checkpoints.
 */
export function companionsOf(key: string): readonly string[] {
  if (!/_\d{9}\.(?:safetensors|pt)$/.test(key)) return [];
  const folder = key.slice(0, key.lastIndexOf('/') + 1);
  return [`${folder}optimizer.pt`, `${folder}learnable_snr.json`];
}

export interface CheckpointName {
  /** Key of the checkpoint's only file, or of its folder. */
  readonly name: string;
  /** Number of completed steps; null when the name does not contain it. */
  readonly step: number | null;
  /** Whether `name` is the key of a single file. */
  readonly isFile: boolean;
}

/** Returns the checkpoint that a file belongs to, by its key; null when it belongs to no numbered checkpoint. */
export function checkpointOf(key: string): CheckpointName | null {
  const segments = key.split('/');
  const file = key.slice(key.lastIndexOf('/') + 1);
  for (const [at, folder] of segments.slice(0, -1).entries()) {
    const [match, ...steps] = stepOfFolder.exec(folder) ?? [];
    if (match === undefined && !epochOfFolder.test(folder)) continue;
    const name = segments.slice(0, at + 1).join('/');
    return { name, step: matchedNumber(steps), isFile: false };
  }
  if (image.test(file)) return null;
  const [match, ...steps] = stepOfFile.exec(file) ?? [];
  if (match === undefined && !epochOfFile.test(file)) return null;
  return { name: key, step: matchedNumber(steps), isFile: true };
}

/** Returns the number in the group that matched; null when no group matched. */
function matchedNumber(groups: readonly (string | undefined)[]): number | null {
  const digits = groups.find(group => group !== undefined);
  return digits === undefined ? null : Number(digits);
}

export const CheckpointView = z
  .object({
    name: z.string().describe('Key of its only file, or of its folder.'),
    step: z.number().nullable().describe('Step of the checkpoint; null when its name does not contain it.'),
    files: z.number().describe('Number of files.'),
    bytes: z.number().describe('Total size of the files in bytes.'),
    complete: z.boolean().describe('Whether all files are uploaded, so that a job can resume from it.'),
    newest: z.boolean().describe('Whether the next attempt resumes from this one.'),
    best: z
      .boolean()
      .describe(
        'Whether it has the lowest loss of all complete checkpoints. Such a checkpoint is kept, however many newer ones exist.',
      ),
    loss: z
      .number()
      .nullable()
      .describe(
        'Mean loss over the last tenth of the steps up to the checkpoint; null when unknown. Uses the evaluation loss if available.',
      ),
    attempt: z.number().describe('Number of the attempt that wrote it.'),
    created_at: z.iso.datetime().describe('When its newest file was uploaded.'),
  })
  .meta({
    id: 'CheckpointView',
    description: 'A checkpoint of a job, with the number and size of its files.',
  });
export type CheckpointView = z.output<typeof CheckpointView>;

export const ArtifactView = z
  .object({
    job_id: JobId,
    key: z.string().describe('Key of the file: names separated by slashes.'),
    kind: ArtifactKind,
    bytes: z.number().describe('Size in bytes.'),
    sha256: z.string().describe('SHA-256 in lower-case hex.'),
    attempt: z.number().describe("Number of the attempt that uploaded it; 1 is the job's first."),
    created_at: z.iso.datetime().describe('When the file was uploaded.'),
  })
  .meta({ id: 'ArtifactView', description: 'A file that a trainer has uploaded.' });
export type ArtifactView = z.output<typeof ArtifactView>;
