import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { EventImages } from './event-images/index.ts';
import type { OutputEnd } from './output-sender.ts';
import { walkOutputs } from './output-walk.ts';
import {
  type Dealt,
  leftovers,
  recordScan,
  type Output,
  outdated,
  outputsOf,
  planUploads,
} from './outputs.ts';

export interface OutputBookDeps {
  /** The folder that the trainer writes to. */
  readonly root: string;
  /** Images that the worker writes itself. If both folders contain the same key, the file in `root` wins. */
  readonly images: Pick<EventImages, 'root' | 'scan'> | null;
  readonly clock: Clock;
  /** Start of the attempt, in ms since the Unix epoch; null when an earlier agent process started it. */
  readonly startedAt: number | null;
  /** Receives each reason why a file cannot be uploaded, as text for people. */
  readonly onFlaw: (flaw: string) => void;
}

/** Tracks the files in an output folder, and which of them have been uploaded. */
export interface OutputBook {
  /** Scans the folder. Returns true when there is more to scan immediately. */
  scan(which: 'all' | 'checkpoints'): Promise<boolean>;
  /** Returns the path of the file with this key. */
  pathOf(key: string): string;
  /** Returns the outputs from the last scan that can be uploaded now, the most important first. */
  due(isOver: boolean, which: 'all' | 'checkpoints', killedAt?: number | null): readonly Output[];
  note(output: Output, end: OutputEnd): void;
  /** The checkpoints of the last scan that the server has unchanged, as far as this book has noted it. */
  storedCheckpoints(): readonly Output[];
  /** Takes the keys that the server already stores. Only the first call has an effect. */
  know(stored: Iterable<string>): void;
  /** Returns the outputs from the last scan for which the server had no room. */
  left(which: 'all' | 'checkpoints'): readonly Output[];
  /** Makes the outputs for which there was no room due again. */
  retry(): void;
}

const maxNamed = 5;

function describeOutdated(outputs: readonly Output[]): string {
  const named = outputs.slice(0, maxNamed).map(({ name }) => name);
  const more = outputs.length - named.length;
  const names = more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
  return `${names} (older than the newest checkpoint of the job on the server)`;
}

export function createOutputBook(deps: OutputBookDeps): OutputBook {
  const { root, images, clock, startedAt, onFlaw } = deps;
  const dealt = new Map<string, Dealt>();
  /** The mark with which each checkpoint was uploaded. Skipped checkpoints have no entry. */
  const stored = new Map<string, string>();
  let since: ReturnType<typeof recordScan> = new Map();
  let first: readonly Output[] | null = null;
  let outputs: readonly Output[] = [];
  let isKnown = false;
  /** Keys of the files that exist only among the worker's own images. */
  let imageKeys: ReadonlySet<string> = new Set();

  const deal = ({ name, mark }: Output, as: Dealt['as']): void =>
    void dealt.set(name, { mark, at: clock.mono(), as });
  const pass = (passed: readonly Output[]): void => passed.forEach(output => deal(output, 'uploaded'));

  return {
    async scan(which) {
      const isBehind = which === 'all' && images !== null && (await images.scan(onFlaw));
      const { files, flaws } = await walkOutputs(root);
      const own = images === null ? [] : [...(await walkOutputs(images.root)).files];
      const added = own.filter(([key]) => !files.has(key));
      imageKeys = new Set(added.map(([key]) => key));
      flaws.forEach(onFlaw);
      outputs = outputsOf(new Map([...files, ...added]));
      since = recordScan(since, outputs, clock.mono());
      if (first === null && startedAt !== null) pass(leftovers(outputs, startedAt));
      first ??= outputs;
      return isBehind;
    },
    pathOf: key => join(images !== null && imageKeys.has(key) ? images.root : root, key),
    due: (isOver, which, killedAt = null) =>
      planUploads({ outputs, since, dealt, now: clock.mono(), isOver, which, killedAt }),
    note(output, { kind }) {
      if (kind === 'uploaded' || kind === 'there') {
        if (output.kind === 'checkpoint') stored.set(output.name, output.mark);
        return deal(output, 'uploaded');
      }
      if (kind === 'no_room' || kind === 'refused') deal(output, kind === 'no_room' ? 'left' : 'refused');
    },
    storedCheckpoints: () => outputs.filter(({ name, mark }) => stored.get(name) === mark),
    know(listed) {
      if (isKnown) return;
      isKnown = true;
      const keys = new Set(listed);
      const skipped = outdated(first ?? [], keys);
      pass(skipped);
      const missing = skipped.filter(({ files }) => files.some(([key]) => !keys.has(key)));
      if (missing.length > 0) onFlaw(describeOutdated(missing));
    },
    left: which =>
      outputs.filter(
        ({ name, kind }) => dealt.get(name)?.as === 'left' && (which === 'all' || kind === 'checkpoint'),
      ),
    retry() {
      for (const [name, { as }] of dealt) if (as === 'left') dealt.delete(name);
    },
  };
}
