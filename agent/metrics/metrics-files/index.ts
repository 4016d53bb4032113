/**
 * Reads the figures that a trainer writes below its output folder: TensorBoard's event files, Lightning's `metrics.csv`,
 * and the `trainer_state.json` of Hugging Face's Trainer.
 */

import { basename, relative, sep } from 'node:path';
import { createCsvFile, type CsvFile } from './csv-file.ts';
import { createEventFile, type EventFile, type ReadResult } from './event-file.ts';
import { findMetricsFiles, type MetricsFile } from './files.ts';
import type { FilePoint } from './names.ts';
import { createStateFiles } from './state-files.ts';

export type { FilePoint } from './names.ts';

/** The new figures of one read. */
export interface FileFigures {
  /** Figures from files that are written immediately. They replace printed figures. */
  readonly live: readonly FilePoint[];
  /** Figures from files that are written long after the figures are known. Until the write, printed figures count. */
  readonly late: readonly FilePoint[];
  /** Whether there is more to read immediately. */
  readonly isBehind: boolean;
}

export interface MetricsFiles {
  /** Skips the figures of earlier attempts. Call it before the trainer starts. */
  skipEarlier(): Promise<void>;
  /** Continues to read, up to a bounded number of bytes. */
  read(): Promise<FileFigures>;
}

export interface MetricsFilesOptions {
  readonly root: string;
  readonly log: (message: string) => void;
}

/** The maximum number of reads of event files in one call. Each reads up to half a MiB. */
const maxReads = 4;
/** The maximum number of names of figures to remember. A job has at most 64 curves. */
const maxNames = 256;

export function createMetricsFiles({ root, log }: MetricsFilesOptions): MetricsFiles {
  const events = new Map<string, EventFile>();
  const tables = new Map<string, CsvFile>();
  const states = createStateFiles();
  /** The kind of file in which each figure was first seen, because Lightning can log the same figure to two kinds. */
  const owners = new Map<string, MetricsFile['kind']>();

  const tableOf = ({ path }: MetricsFile): CsvFile => {
    const table = tables.get(path) ?? createCsvFile();
    tables.set(path, table);
    return table;
  };

  const eventFileOf = ({ path, folder }: MetricsFile, all: readonly MetricsFile[], offset = 0): EventFile => {
    const existing = events.get(path);
    if (existing !== undefined) return existing;
    const opened = createEventFile({
      offset,
      rename: renameFor(folder, all),
      onCorrupt: (at, why) =>
        log(`${relative(root, path)} is corrupt at byte ${at}, and the rest is not read: ${why}`),
    });
    events.set(path, opened);
    return opened;
  };

  /** Reads the files in order, so that the later file counts when two files have the same step. */
  const readEvents = async (files: readonly MetricsFile[]): Promise<ReadResult> => {
    const points: FilePoint[] = [];
    let reads = 0;
    for (const file of files) {
      const piece = await eventFileOf(file, files).read(file);
      points.push(...piece.points);
      if (piece.isBehind || reads === maxReads) return { points, isBehind: true };
      if (piece.points.length > 0) reads += 1;
    }
    return { points, isBehind: false };
  };

  const readTables = async (files: readonly MetricsFile[]): Promise<ReadResult> => {
    const points: FilePoint[] = [];
    let isBehind = false;
    for (const file of files) {
      const piece = await tableOf(file).read(file);
      points.push(...piece.points);
      isBehind ||= piece.isBehind;
    }
    return { points, isBehind };
  };

  return {
    async skipEarlier() {
      const { runs, csvs, checkpoints } = byKind(await findMetricsFiles(root));
      for (const file of runs) eventFileOf(file, runs, file.bytes);
      for (const file of csvs) await tableOf(file).skip(file);
      for (const file of checkpoints) await states.skip(file);
    },
    async read() {
      const { runs, csvs, checkpoints } = byKind(await findMetricsFiles(root));
      const fromEvents = await readEvents(runs);
      const fromTables = await readTables(csvs);
      const late: FilePoint[] = [];
      for (const file of checkpoints) late.push(...(await states.read(file)));
      return {
        live: [
          ...ownPoints(fromEvents.points, 'events', owners),
          ...ownPoints(fromTables.points, 'csv', owners),
        ],
        late,
        isBehind: fromEvents.isBehind || fromTables.isBehind,
      };
    },
  };
}

const byKind = (files: readonly MetricsFile[]) => ({
  runs: files.filter(({ kind }) => kind === 'events'),
  csvs: files.filter(({ kind }) => kind === 'csv'),
  checkpoints: files.filter(({ kind }) => kind === 'state'),
});

/** Removes the figures that were first seen in another kind of file. */
function ownPoints(
  points: readonly FilePoint[],
  kind: MetricsFile['kind'],
  owners: Map<string, MetricsFile['kind']>,
): readonly FilePoint[] {
  const isOwn = (name: string): boolean => {
    if (!owners.has(name) && owners.size < maxNames) owners.set(name, kind);
    return owners.get(name) === kind;
  };
  return points.flatMap(({ values, epoch, ...point }) => {
    const ownValues = Object.entries(values).filter(([name]) => isOwn(name));
    const ownEpoch = epoch !== undefined && isOwn('epoch') ? epoch : undefined;
    if (ownValues.length === 0 && ownEpoch === undefined) return [];
    return [{ ...point, epoch: ownEpoch, values: Object.fromEntries(ownValues) }];
  });
}

/**
 * TensorBoard's `add_scalars` creates runs in folders below the main run: the folder `loss_train` also has a tag `loss`.
 * Tags of such a run are renamed, so that two figures do not share a curve.
 */
function renameFor(folder: string, all: readonly MetricsFile[]): (tag: string) => string {
  const isBelow = all.some(
    other => other.folder !== folder && (other.folder === '' || folder.startsWith(other.folder + sep)),
  );
  if (!isBelow) return tag => tag;
  const name = basename(folder);
  return tag => {
    const main = `${tag.replaceAll('/', '_')}_`;
    return name.startsWith(main) ? `${tag}/${name.slice(main.length)}` : `${name}/${tag}`;
  };
}
