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
  if (flaw) context.addIssue({ code: 'custom', message: `this can not be the name of a file: ${flaw}` });
  return key;
});

const image = /\.(?:png|jpe?g|webp|gif|avif|bmp|tiff?|mp4|webm|mov)$/i;
const checkpoint =
  /(?:^|\/)(?:[^/]*[-_.])?(?:checkpoint|ckpt)(?:$|[-_./\d])|[-_](?:step|epoch)[-_=]?\d+(?:$|[-_./])/i;
const model = /\.(?:safetensors|ckpt|pth?|bin|gguf|onnx)$/i;

/** What it is, as far as its name says. */
export function kindOf(key: string): ArtifactKind {
  if (image.test(key)) return 'sample_image';
  // The ending of a file that is no checkpoint but a model in that format.
  if (checkpoint.test(key.replace(/\.ckpt$/i, ''))) return 'checkpoint';
  return model.test(key) ? 'final_model' : 'other';
}

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
