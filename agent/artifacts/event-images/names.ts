import { createHash } from 'node:crypto';
import { ArtifactPath } from '../../../protocol/artifact.ts';
import type { ImageEnding } from './decode.ts';

/** The folder in the job's files that contains all images from event files. */
const topFolder = 'tensorboard-images';
const maxNameBytes = 80;
/** The maximum number of characters of a tag to convert: enough to fill `maxNameBytes`. A tag can be megabytes long. */
const maxNameChars = 200;
const hashDigits = 8;

export interface ImagePlace {
  /** Folder of the event file, relative to the output folder; empty for the output folder itself. */
  readonly folder: string;
  readonly tag: string;
  readonly step: number;
  readonly index: number;
}

/** The parts of a path. `series` identifies a tag in a folder, and is the same for all steps. */
export interface ImageName {
  /** The path without its file extension. */
  readonly stem: string;
  readonly series: string;
  readonly step: number;
}

/** Returns the name of an image. The panel reads the step from this name, for example 500 from `step_500_`. */
export function nameImage({ folder, tag, step, index }: ImagePlace): ImageName {
  const series = `${folder === '' ? '' : `${toSafeName(folder)}/`}${toSafeName(tag)}`;
  const cut = series.lastIndexOf('/') + 1;
  const file = `step_${step}_${series.slice(cut)}_${index}`;
  return { stem: `${topFolder}/${series.slice(0, cut)}${file}`, series, step };
}

export const pathOf = ({ stem }: ImageName, ending: ImageEnding): string => `${stem}.${ending}`;

/** Parses a path that `nameImage` created; null for any other path. */
export function parseImagePath(path: string): ImageName | null {
  const [, stem = '', folder = '', step, tag] =
    /^(tensorboard-images\/([^/]*\/)?step_(\d+)_([^/]+)_\d+)\.[a-z]+$/.exec(path) ?? [];
  return step === undefined ? null : { stem, series: `${folder}${tag}`, step: Number(step) };
}

/**
 * Converts any text to a file name. Plain text stays readable, with `--` for each slash. Other text gets a hash, so that
 * two tags never share a name, even on file systems that ignore case or normalize Unicode.
 */
function toSafeName(text: string): string {
  const plain = toPlainName(text);
  if (plain !== null) return plain;
  const safe = text
    .slice(0, maxNameChars)
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N}_-]+/gu, '-')
    .replaceAll(/^[-_]+|[-_]+$/g, '');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, hashDigits);
  return safe === '' ? hash : `${cutBytes(safe)}-${hash}`;
}

/**
 * Converts plain text to a name that can be converted back; returns null for other text. Plain text never has two
 * separators in a row, so `--` is unambiguous.
 */
function toPlainName(text: string): string | null {
  if (text.length > maxNameBytes || !/^[a-z0-9]+(?:[-_/][a-z0-9]+)*$/.test(text)) return null;
  const name = text.replaceAll('/', '--');
  // Windows reserves some names.
  return name.length <= maxNameBytes && ArtifactPath.safeParse(name).success ? name : null;
}

function cutBytes(text: string): string {
  let start = '';
  for (const character of text) {
    if (Buffer.byteLength(start + character) > maxNameBytes) break;
    start += character;
  }
  return start;
}
