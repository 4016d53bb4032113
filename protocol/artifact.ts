import { z } from 'zod';
import { JobId } from './ids.ts';

const artifactKinds = ['checkpoint', 'sample_image', 'final_model', 'other'] as const;
const ArtifactKind = z.enum(artifactKinds);
export type ArtifactKind = z.infer<typeof ArtifactKind>;

/** Of a job, together; so that no list of them, and no path, is longer than what carries it. */
const mostSegments = 16;
const longestKey = 700;
/** In UTF-8: file systems take 255. */
const longestSegment = 200;

/** Reserved on Windows, whatever ending they have. */
const reserved = /^(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])(?:\.|$)/i;
/** Not in file names of some system, not to be seen, or about to be decoded into one of those by somebody else. */
const unsafe = /[<>:"/\\|?*\p{C}\p{Zl}\p{Zp}]|%[0-9a-f]{2}/iu;

/** What keeps a name from being that of a file on every system; null when nothing does. */
function flawOf(segment: string): string | null {
  if (segment === '') return 'a name is empty';
  if (new TextEncoder().encode(segment).length > longestSegment)
    return `a name is longer than ${longestSegment} bytes`;
  if (unsafe.test(segment)) return 'a name has a sign that file names may not have';
  if (/^\s|[\s.]$/u.test(segment)) return 'a name begins with a blank, or ends with a blank or a dot';
  return reserved.test(segment) ? 'a name is one that Windows keeps for itself' : null;
}

/**
 * What an artifact is called: names with slashes between them, each of which can be the name of a file on every system. As a path
 * of a call brings it, in parts that were decoded once; the text is in the normal form C of Unicode.
 */
export const ArtifactKey = z.array(z.string()).transform((parts, context): string => {
  const segments = parts.map(part => part.normalize('NFC'));
  const key = segments.join('/');
  const flaw =
    segments.length === 0 || segments.length > mostSegments || key.length > longestKey
      ? `1 to ${mostSegments} names and ${longestKey} characters are taken`
      : segments.map(flawOf).find(found => found !== null);
  if (flaw) context.addIssue({ code: 'custom', message: `this cannot be the name of a file: ${flaw}` });
  return key;
});

/** The same as one text. */
export const ArtifactPath = z
  .string()
  .max(longestKey)
  .transform(path => path.split('/'))
  .pipe(ArtifactKey);

const image = /\.(?:png|jpe?g|webp|gif|avif|bmp|tiff?|mp4|webm|mov)$/i;
const checkpoint =
  /(?:^|\/)(?:[^/]*[-_.])?(?:checkpoint|ckpt)(?:$|[-_./\d])|[-_](?:step|epoch)[-_=]?\d+(?:$|[-_./])/i;
const optimizer = /(?:^|\/)optimizer\.(?:pt|bin)$/i;
const model = /\.(?:safetensors|ckpt|pth?|bin|gguf|onnx)$/i;

/** What it is, as far as its name says. */
export function kindOf(key: string): ArtifactKind {
  if (image.test(key)) return 'sample_image';
  // The ending of a file that is no checkpoint but a model in that format.
  if (checkpointOf(key) !== null || checkpoint.test(key.replace(/\.ckpt$/i, ''))) return 'checkpoint';
  return model.test(key) && !optimizer.test(key) ? 'final_model' : 'other';
}

/**
 * The last file that comes of a checkpoint which is a folder: it says that all the others are there. JSON, as `CheckpointManifest`.
 * A checkpoint that is one file needs none.
 */
export const manifestName = 'checkpoint-manifest.json';

/** The files of a checkpoint that is a folder, by their paths in it. */
export const CheckpointManifest = z.object({
  files: z
    .array(
      z.object({
        path: z.string().min(1).max(longestKey),
        bytes: z.number().int().min(0),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .min(1)
    .max(10_000),
});
export type CheckpointManifest = z.output<typeof CheckpointManifest>;

/**
 * Files by their steps: `checkpoint-000500.bin`, `epoch=3-step=500.ckpt` (Lightning), `mine-step00000500.safetensors` (sd-scripts),
 * `mine_000000250.safetensors` (ai-toolkit), `...-save-500-2-0.safetensors` (OneTrainer: steps, epochs, steps of the epoch).
 */
const stepOfFile =
  /(?:^|[-_.])(?:checkpoint|ckpt|step)s?[-_=]?(\d{1,12})(?=$|[-_.])|_(\d{9})\.(?:safetensors|pt)$|-save-(\d{1,12})-\d+-\d+(?=$|\.)/i;
/** Files by their epochs: `mine-epoch-3.pt`, `mine-000001.safetensors` (sd-scripts). */
const epochOfFile = /(?:^|[-_.])epochs?[-_=]?\d{1,12}(?=$|[-_.])|-\d{6}\.(?:safetensors|ckpt|pt)$/i;
/**
 * Folders by their steps: `checkpoint-500`, `mine-step00000500-state` (sd-scripts), `mine_000000250` (ai-toolkit),
 * `...-backup-500-2-0` (OneTrainer). Samples lie in folders by their steps, too.
 */
const stepOfFolder =
  /(?:^|[-_.])(?:checkpoint|ckpt)s?[-_=]?(\d{1,12})(?=$|[-_.])|[-_]step(\d{1,12})-state$|_(\d{9})$|-backup-(\d{1,12})-\d+-\d+$/i;
/** `mine-000010-state` (sd-scripts): it counts epochs. */
const epochOfFolder = /[-_]\d{1,12}-state$/i;

/** What a trainer keeps beside its checkpoints and needs to continue from one, by the key of that: ai-toolkit has one optimizer state. */
export function companionsOf(key: string): readonly string[] {
  if (!/_\d{9}\.(?:safetensors|pt)$/.test(key)) return [];
  const folder = key.slice(0, key.lastIndexOf('/') + 1);
  return [`${folder}optimizer.pt`, `${folder}learnable_snr.json`];
}

export interface CheckpointName {
  /** The key of its one file, or of the folder that its files are in. */
  readonly name: string;
  /** How many had been done; null where the name does not say. */
  readonly step: number | null;
  /** Whether the key is that of its one file. */
  readonly isFile: boolean;
}

/** Which checkpoint a file is of, by its key; null when of none with a number. */
export function checkpointOf(key: string): CheckpointName | null {
  const segments = key.split('/');
  const file = key.slice(key.lastIndexOf('/') + 1);
  for (const [at, folder] of segments.slice(0, -1).entries()) {
    const [match, ...steps] = stepOfFolder.exec(folder) ?? [];
    if (match === undefined && !epochOfFolder.test(folder)) continue;
    const name = segments.slice(0, at + 1).join('/');
    return { name, step: numberOf(steps), isFile: false };
  }
  if (image.test(file)) return null;
  const [match, ...steps] = stepOfFile.exec(file) ?? [];
  if (match === undefined && !epochOfFile.test(file)) return null;
  return { name: key, step: numberOf(steps), isFile: true };
}

/** Of the groups of a pattern, at most one has matched. */
function numberOf(groups: readonly (string | undefined)[]): number | null {
  const digits = groups.find(group => group !== undefined);
  return digits === undefined ? null : Number(digits);
}

/** Files that one checkpoint of a job is made of. */
export const CheckpointView = z
  .object({
    /** The key of its one file, or of the folder that its files are in. */
    name: z.string(),
    /** Null where its name does not say. */
    step: z.number().nullable(),
    files: z.number(),
    bytes: z.number(),
    /** All of it is there: a job can go on from it. */
    complete: z.boolean(),
    /** From which the next attempt goes on. */
    newest: z.boolean(),
    /** With the lowest loss of those that are complete; it is kept, however many newer ones there are. */
    best: z.boolean(),
    /** The mean of the loss (that of the evaluation where there is one) over the last tenth of the steps up to it; null when nothing tells. */
    loss: z.number().nullable(),
    attempt: z.number(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'CheckpointView' });
export type CheckpointView = z.output<typeof CheckpointView>;

export const ArtifactView = z
  .object({
    job_id: JobId,
    key: z.string(),
    kind: ArtifactKind,
    bytes: z.number(),
    /** Lower-case hex. */
    sha256: z.string(),
    /** Of the job, which has uploaded it: 1 for the first. */
    attempt: z.number(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'ArtifactView' });
export type ArtifactView = z.output<typeof ArtifactView>;
