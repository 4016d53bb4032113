import { checkpointOf, kindOf } from '../../protocol/artifact.ts';

/** Size and time of a file when it was scanned. */
export interface Found {
  readonly bytes: number;
  /** Modification time, in ms since the Unix epoch. */
  readonly changedAt: number;
}

/** Files that are uploaded together: a single file, or all files of a checkpoint folder. */
export interface Output {
  /** Key of the file or folder. */
  readonly name: string;
  readonly kind: 'checkpoint' | 'sample' | 'other';
  /** Training step from a checkpoint's name; null when there is none. */
  readonly step: number | null;
  readonly isFolder: boolean;
  /** Sorted by key. */
  readonly files: readonly (readonly [key: string, found: Found])[];
  /** Sizes and times of all files, as text. A different mark means that the output has changed. */
  readonly mark: string;
}

/** The outputs to upload now. `events`: only the event files of TensorBoard. */
export type UploadScope = 'all' | 'checkpoints' | 'events';

/**
 * TensorBoard's event files can be uploaded in any state: writers only append to them, and readers accept a truncated
 * end.
 */
const isEventFile = (name: string): boolean => /(?:^|\/)events\.out\.tfevents\.[^/]+$/.test(name);

const isIn = (scope: UploadScope, { name, kind }: Output): boolean =>
  scope === 'all' ||
  (scope === 'checkpoints' ? kind === 'checkpoint' : kind === 'other' && isEventFile(name));

/** A file counts as completely written after it has not changed for this long. */
const quietMs = 5_000;
/** Minimum time between two uploads of the same file of kind `other`. Logs, for example, grow all the time. */
const otherEveryMs = 300_000;
/** A file of kind `other` that is larger than this is uploaded again less often, in proportion to its size. */
const usualOtherBytes = 100_000_000;
/** Delay before the retry of an output that the server had no room for. */
const noRoomRetryMs = 300_000;

/** For each output name: its current mark, and the monotonic time in ms when that mark was first seen. */
type UnchangedSince = ReadonlyMap<string, { readonly mark: string; readonly at: number }>;

/** The result of the last upload of an output, or why it is skipped. */
export interface OutputResult {
  readonly mark: string;
  /** When the upload ended, in ms of the monotonic clock. */
  readonly at: number;
  /** `no_room`: the server had no room for it. `refused`: the server never accepts it. */
  readonly result: 'uploaded' | 'no_room' | 'refused';
}

/** Groups the files of one scan into outputs. */
export function outputsOf(files: ReadonlyMap<string, Found>): readonly Output[] {
  const groups = new Map<string, (readonly [string, Found])[]>();
  for (const [key, found] of files) {
    const name = checkpointOf(key)?.name ?? key;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [[key, found]]);
    else group.push([key, found]);
  }
  return [...groups].flatMap(([name, group]) => {
    // A folder of sample images can have the name of a checkpoint, but no attempt can resume from images.
    const isAlbum = group.every(([key]) => kindOf(key) === 'sample_image');
    if (isAlbum) return group.map(file => outputOf(file[0], 'sample', [file]));
    return [outputOf(name, checkpointOf(name) === null ? 'other' : 'checkpoint', group)];
  });
}

function outputOf(name: string, kind: Output['kind'], group: Output['files']): Output {
  const files = group.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    name,
    kind,
    step: kind === 'checkpoint' ? (checkpointOf(name)?.step ?? null) : null,
    isFolder: files.some(([key]) => key !== name),
    files,
    mark: files.map(([key, { bytes, changedAt }]) => `${key}:${bytes}:${changedAt}`).join('|'),
  };
}

/** Returns when each output's current mark was first seen. */
export function recordScan(
  unchangedSince: UnchangedSince,
  outputs: readonly Output[],
  now: number,
): UnchangedSince {
  return new Map(
    outputs.map(({ name, mark }) => {
      const before = unchangedSince.get(name);
      return [name, before?.mark === mark ? before : { mark, at: now }];
    }),
  );
}

export interface ScanResult {
  readonly outputs: readonly Output[];
  readonly unchangedSince: UnchangedSince;
  readonly results: ReadonlyMap<string, OutputResult>;
  /** In ms of the monotonic clock. */
  readonly now: number;
  /** The trainer has ended, so the files no longer change. */
  readonly isOver: boolean;
  /**
   * When the trainer was killed, in ms of the monotonic clock; null if it was not killed. Files that it wrote shortly
   * before may be incomplete.
   */
  readonly killedAt?: number | null;
  readonly which: UploadScope;
}

/** Returns the outputs to upload now: checkpoints, then samples, then the rest. Within each kind, the newest is first. */
export function planUploads(scan: ScanResult): readonly Output[] {
  const { outputs, unchangedSince, results, now, isOver, which, killedAt = null } = scan;
  // The files of a trainer that ended by itself are complete. Otherwise, an output must have been unchanged for
  // `quietMs`.
  const quietUntil = killedAt ?? (isOver ? null : now);
  const isDue = ({ name, mark, kind, files }: Output): boolean => {
    const unchangedFrom = unchangedSince.get(name)?.at ?? now;
    const mustBeQuiet = quietUntil !== null && !(kind === 'other' && isEventFile(name));
    if (mustBeQuiet && quietUntil - unchangedFrom < quietMs) return false;
    const last = results.get(name);
    if (last === undefined) return true;
    if (last.result === 'no_room') return !isOver && now - last.at >= noRoomRetryMs;
    if (last.mark === mark) return false;
    const bytes = files.reduce((sum, [, found]) => sum + found.bytes, 0);
    const everyMs = otherEveryMs * Math.max(1, bytes / usualOtherBytes);
    return isOver || kind !== 'other' || now - last.at >= everyMs;
  };
  const due = outputs.filter(output => isIn(which, output) && isDue(output));
  return due.toSorted(
    (a, b) => order[a.kind] - order[b.kind] || (b.step ?? -1) - (a.step ?? -1) || newest(b) - newest(a),
  );
}

const order = { checkpoint: 0, sample: 1, other: 2 } as const;
const newest = ({ files }: Output): number => Math.max(...files.map(([, { changedAt }]) => changedAt));

/**
 * Finds checkpoints that are older than the attempt. They are not uploaded, because they may be incomplete, and because
 * the orchestrator has already chosen the checkpoint to resume from.
 */
export const outputsBeforeAttempt = (outputs: readonly Output[], startedAt: number): readonly Output[] =>
  outputs.filter(output => output.kind === 'checkpoint' && newest(output) < startedAt);

/**
 * Finds outputs of the first scan that are older than the newest checkpoint on the server. They are not uploaded, because
 * the server has already deleted them or does not need them.
 */
export function outputsBeforeStored(outputs: readonly Output[], stored: Iterable<string>): readonly Output[] {
  const steps = [...stored].map(key => checkpointOf(key)?.step ?? -1);
  const newestStored = steps.reduce((most, step) => Math.max(most, step), -1);
  return outputs.filter(({ step }) => step !== null && step < newestStored);
}
