/**
 * Saves the images in TensorBoard's event files as separate files, so that they are uploaded like other samples. The
 * files are in a folder of the worker, because a trainer could replace a folder below its own output folder by a link.
 *
 *     began.json   sizes of the event files before the attempt: earlier attempts wrote everything before these offsets
 *     files/       the images, under the keys that they have on the server
 */

import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { findMetricsFiles, type MetricsFile } from '../../metrics/metrics-files/files.ts';
import { createRecordFile, type RecordFile } from '../../metrics/metrics-files/record-file.ts';
import { walkOutputs } from '../output-walk.ts';
import { readFields, writeWhole } from '../../files/whole-file.ts';
import { decodeImages } from './decode.ts';
import {
  type Candidate,
  type ChosenImage,
  createSelection,
  limits,
  noMore,
  type Selection,
} from './selection.ts';

export interface EventImages {
  /** The folder of the images. */
  readonly root: string;
  /** Resolves when the sizes of the existing event files are recorded. The trainer must not start earlier. */
  readonly ready: Promise<void>;
  /** Reads a bounded number of bytes, and writes the images in them. Returns whether there is more to read. */
  scan(onFlaw: (flaw: string) => void): Promise<boolean>;
}

export interface EventImagesOptions {
  /** The folder that the trainer writes to. */
  readonly outputDir: string;
  /** The worker's own folder for this attempt; created if needed. */
  readonly folder: string;
  /** Whether the trainer has not started yet. False when this process adopted a running trainer. */
  readonly isNew: boolean;
}

/** The maximum size in bytes of a record of an event file. A record can contain a batch of several images. */
const maxRecordBytes = 2 * limits.imageBytes;
/** The size of the parts in which event files are read, in bytes. */
const partBytes = 4 * 1024 * 1024;
/** The maximum number of parts to read in one scan. */
const maxReads = 4;

/** For each event file, by its path relative to the output folder: the offset at which this attempt's events begin. */
type Offsets = ReadonlyMap<string, number>;

export function openEventImages({ outputDir, folder, isNew }: EventImagesOptions): EventImages {
  const root = join(folder, 'files');
  const beganFile = join(folder, 'began.json');
  const files = new Map<string, RecordFile>();
  let selection: Selection | null = null;
  /** Null if the offsets are unknown. Then no image is extracted, because it may belong to an earlier attempt. */
  let offsets: Offsets | null = null;

  const findEventFiles = async (): Promise<readonly MetricsFile[]> =>
    (await findMetricsFiles(outputDir)).filter(({ kind }) => kind === 'events');
  const nameOf = ({ path }: MetricsFile): string => relative(outputDir, path).split(sep).join('/');

  const recordOffsets = async (): Promise<void> => {
    if (!isNew) {
      offsets = readOffsets(beganFile);
      return;
    }
    offsets = new Map((await findEventFiles()).map(file => [nameOf(file), file.bytes]));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    writeWhole(beganFile, JSON.stringify(Object.fromEntries(offsets)));
  };
  // If a full disk prevents `began.json`, images are extracted only until this process ends.
  const ready = recordOffsets().catch(() => {});

  const openSelection = async (): Promise<Selection> => {
    const { files: written } = await walkOutputs(root);
    return createSelection([...written].map(([path, { bytes }]) => [path, bytes] as const));
  };

  const recordsOf = (file: MetricsFile, offset: number): RecordFile => {
    const existing = files.get(file.path);
    if (existing !== undefined) return existing;
    // Corrupt files are reported by the code that reads the scalars of the same files.
    const opened = createRecordFile({ offset, maxRecordBytes, partBytes, onCorrupt: () => {} });
    files.set(file.path, opened);
    return opened;
  };

  return {
    root,
    ready,
    async scan(onFlaw) {
      await ready;
      if (offsets === null) return false;
      selection ??= await openSelection();
      let reads = 0;
      for (const file of await findEventFiles())
        for (let isBehind = true; isBehind; ) {
          if (selection.isFull()) {
            onFlaw(noMore);
            return false;
          }
          if (reads === maxReads) return true;
          const piece = await recordsOf(file, offsets.get(nameOf(file)) ?? 0).read(file);
          ({ isBehind } = piece);
          if (isBehind || piece.records.length > 0) reads += 1;
          const { images, flaws } = selection.choose(candidatesIn(piece.records, folderOf(file)));
          flaws.forEach(onFlaw);
          await writeAll(root, images, onFlaw);
        }
      return false;
    },
  };
}

const folderOf = ({ folder }: MetricsFile): string => folder.split(sep).join('/');

const candidatesIn = (records: readonly Uint8Array[], folder: string): readonly Candidate[] =>
  records.flatMap(data => {
    const event = decodeImages(data);
    return event === null ? [] : event.images.map(image => ({ ...image, folder, step: event.step }));
  });

async function writeAll(
  root: string,
  images: readonly ChosenImage[],
  onFlaw: (flaw: string) => void,
): Promise<void> {
  for (const { path, bytes } of images)
    await writeImage(join(root, path), bytes).catch((cause: unknown) =>
      onFlaw(`an image of an event file cannot be written into ${root} (${codeOf(cause)})`),
    );
}

/** Returns only the error code. The message contains the image's path, so a full disk would be reported once per image. */
const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';

/** Syncs the file before it gets its final name. Otherwise, a power failure could leave an empty image forever. */
async function writeImage(path: string, bytes: Uint8Array): Promise<void> {
  const unfinished = `${path}.tmp`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(unfinished, bytes, { mode: 0o600, flush: true });
    await rename(unfinished, path);
  } catch (cause) {
    await rm(unfinished, { force: true });
    throw cause;
  }
}

function readOffsets(file: string): Offsets | null {
  const fields = readFields(file);
  if (fields === null) return null;
  return new Map(
    Object.entries(fields).flatMap(([path, bytes]) =>
      typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? [[path, bytes] as const] : [],
    ),
  );
}
