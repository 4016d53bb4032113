import { createHash } from 'node:crypto';
import { ArtifactPath } from '../../../protocol/artifact.ts';
import type { ImageEnding } from './decode.ts';

/** All images of event files lie in this folder of the job's files. */
const topFolder = 'tensorboard-images';
const maxNameBytes = 80;
/** Enough to fill `maxNameBytes`; a tag can be as long as a record. */
const maxNameChars = 200;
const hashDigits = 8;

export interface ImagePlace {
  /** Folder of the event file, relative to the output folder; empty for the output folder itself. */
  readonly folder: string;
  readonly tag: string;
  readonly step: number;
  readonly index: number;
}

/** The parts of a path. `series` is the same for one tag of one folder at all steps. */
export interface ImageName {
  /** The path without its ending. */
  readonly stem: string;
  readonly series: string;
  readonly step: number;
}

/** The panel reads the step from `step_500_`. */
export function nameImage({ folder, tag, step, index }: ImagePlace): ImageName {
  const series = `${folder === '' ? '' : `${toSafeName(folder)}/`}${toSafeName(tag)}`;
  const cut = series.lastIndexOf('/') + 1;
  const file = `step_${step}_${series.slice(cut)}_${index}`;
  return { stem: `${topFolder}/${series.slice(0, cut)}${file}`, series, step };
}

export const pathOf = ({ stem }: ImageName, ending: ImageEnding): string => `${stem}.${ending}`;

/** Reads back what `nameImage` made; null for any other path. */
export function parseImagePath(path: string): ImageName | null {
  const [, stem = '', folder = '', step, tag] =
    /^(tensorboard-images\/([^/]*\/)?step_(\d+)_([^/]+)_\d+)\.[a-z]+$/.exec(path) ?? [];
  return step === undefined ? null : { stem, series: `${folder}${tag}`, step: Number(step) };
}

/**
 * Makes a file name out of any text. Plain text keeps its words, with `--` for each slash. Any other text gets a hash, so
 * that two tags never share a name, also on file systems that ignore case and Unicode form.
 */
function toSafeName(text: string): string {
  const plain = toPlainName(text);
  if (plain !== null) return plain;
  const kept = text
    .slice(0, maxNameChars)
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N}_-]+/gu, '-')
    .replaceAll(/^[-_]+|[-_]+$/g, '');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, hashDigits);
  return kept === '' ? hash : `${cutBytes(kept)}-${hash}`;
}

/** Null unless the name can be turned back into the text. That works because plain text never has two separators in a row. */
function toPlainName(text: string): string | null {
  if (text.length > maxNameBytes || !/^[a-z0-9]+(?:[-_/][a-z0-9]+)*$/.test(text)) return null;
  const name = text.replaceAll('/', '--');
  // Windows reserves some names.
  return name.length <= maxNameBytes && ArtifactPath.safeParse(name).success ? name : null;
}

function cutBytes(text: string): string {
  let kept = '';
  for (const character of text) {
    if (Buffer.byteLength(kept + character) > maxNameBytes) break;
    kept += character;
  }
  return kept;
}
