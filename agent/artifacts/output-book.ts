import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { EventImages } from './event-images/index.ts';
import type { OutputEnd } from './output-sender.ts';
import { walkOutputs } from './output-walk.ts';
import {
  type OutputResult,
  outputsBeforeAttempt,
  recordScan,
  type Output,
  outputsBeforeStored,
  outputsOf,
  planUploads,
  type UploadScope,
} from './outputs.ts';

export interface OutputBookDeps {
  /** The folder that the trainer writes to. */
  readonly root: string;
  /**
   * Images that the worker writes itself. If `images.root` and `root` contain the same key, the file in `root` wins.
   */
  readonly images: Pick<EventImages, 'root' | 'scan'> | null;
  readonly clock: Clock;
  /** Start of the attempt, in ms since the Unix epoch; null when an earlier agent process started it. */
  readonly startedAt: number | null;
  /** Receives each reason why a file cannot be uploaded, as text for people. */
  readonly onFlaw: (flaw: string) => void;
}

/** Records the files in an output folder and the result of each upload. Decides which to upload next. */
export interface OutputBook {
  /** Scans the folder. Returns true when there is more to scan immediately. */
  scan(which: UploadScope): Promise<boolean>;
  /** Returns the path of the file with this key. */
  pathOf(key: string): string;
  /**
   * Returns the outputs from the last scan that can be uploaded now, the most important first. `isOver`: the trainer has
   * ended.
   */
  due(isOver: boolean, which: UploadScope, killedAt?: number | null): readonly Output[];
  recordEnd(output: Output, end: OutputEnd): void;
  /** Returns the checkpoints of the last scan whose current content was uploaded. */
  storedCheckpoints(): readonly Output[];
  /** Records the keys that the server had stored before this process started. Only the first call has an effect. */
  recordListing(stored: Iterable<string>): void;
  /** Returns the outputs that the last scan found and that the server refused because its storage is full. */
  withoutRoom(which: UploadScope): readonly Output[];
  /** Makes the outputs that `withoutRoom` returns due again. */
  retryWithoutRoom(): void;
}

/** The maximum number of outputs that one message names. */
const maxNamed = 5;

function describeOutdated(outputs: readonly Output[]): string {
  const firstNames = outputs.slice(0, maxNamed).map(({ name }) => name);
  const more = outputs.length - firstNames.length;
  const names = more > 0 ? `${firstNames.join(', ')} and ${more} more` : firstNames.join(', ');
  return `${names} (older than the newest checkpoint of the job on the server)`;
}

export function createOutputBook(deps: OutputBookDeps): OutputBook {
  const { root, images, clock, startedAt, onFlaw } = deps;
  const results = new Map<string, OutputResult>();
  /** The `mark` of each uploaded checkpoint at the time of its upload, by name. Skipped checkpoints have no entry. */
  const stored = new Map<string, string>();
  let unchangedSince: ReturnType<typeof recordScan> = new Map();
  let firstScan: readonly Output[] | null = null;
  let outputs: readonly Output[] = [];
  let hasListing = false;
  /** Keys of the worker's own images that `root` does not contain. */
  let imageKeys: ReadonlySet<string> = new Set();

  const recordResult = ({ name, mark }: Output, result: OutputResult['result']): void =>
    void results.set(name, { mark, at: clock.mono(), result });
  const markUploaded = (skipped: readonly Output[]): void =>
    skipped.forEach(output => recordResult(output, 'uploaded'));

  return {
    async scan(which) {
      const isBehind = which === 'all' && images !== null && (await images.scan(onFlaw));
      const { files, flaws } = await walkOutputs(root);
      const imageFiles = images === null ? [] : [...(await walkOutputs(images.root)).files];
      const added = imageFiles.filter(([key]) => !files.has(key));
      imageKeys = new Set(added.map(([key]) => key));
      flaws.forEach(onFlaw);
      outputs = outputsOf(new Map([...files, ...added]));
      unchangedSince = recordScan(unchangedSince, outputs, clock.mono());
      if (firstScan === null && startedAt !== null) markUploaded(outputsBeforeAttempt(outputs, startedAt));
      firstScan ??= outputs;
      return isBehind;
    },
    pathOf: key => join(images !== null && imageKeys.has(key) ? images.root : root, key),
    due: (isOver, which, killedAt = null) =>
      planUploads({ outputs, unchangedSince, results, now: clock.mono(), isOver, which, killedAt }),
    recordEnd(output, { kind }) {
      if (kind === 'uploaded' || kind === 'already_stored') {
        if (output.kind === 'checkpoint') stored.set(output.name, output.mark);
        return recordResult(output, 'uploaded');
      }
      if (kind === 'no_room' || kind === 'refused')
        recordResult(output, kind === 'no_room' ? 'no_room' : 'refused');
    },
    storedCheckpoints: () => outputs.filter(({ name, mark }) => stored.get(name) === mark),
    recordListing(listed) {
      if (hasListing) return;
      hasListing = true;
      const keys = new Set(listed);
      const skipped = outputsBeforeStored(firstScan ?? [], keys);
      markUploaded(skipped);
      const missing = skipped.filter(({ files }) => files.some(([key]) => !keys.has(key)));
      if (missing.length > 0) onFlaw(describeOutdated(missing));
    },
    withoutRoom: which =>
      outputs.filter(
        ({ name, kind }) =>
          results.get(name)?.result === 'no_room' && (which === 'all' || kind === 'checkpoint'),
      ),
    retryWithoutRoom() {
      for (const [name, { result }] of results) if (result === 'no_room') results.delete(name);
    },
  };
}
