import { checkpointOf, kindOf } from '../protocol/artifact.ts';

/** A file as a look has found it. */
export interface Found {
  readonly bytes: number;
  /** ms since 1970. */
  readonly changedAt: number;
}

/** What is to be brought together: a file, or a checkpoint that is a folder of them. */
export interface Output {
  /** The key of the file, or of the folder. */
  readonly name: string;
  readonly kind: 'checkpoint' | 'sample' | 'other';
  /** Of a checkpoint, where its name says so. */
  readonly step: number | null;
  readonly isFolder: boolean;
  /** By their keys, in their order. */
  readonly files: readonly (readonly [key: string, found: Found])[];
  /** Says whether it is still what it was: the sizes and times of all its files. */
  readonly mark: string;
}

/** How long a file has to stay as it is before it counts as written. */
const quietMs = 5_000;
/** Files that grow all the time, as logs do, are brought now and then. */
const otherEveryMs = 300_000;
/** What there was no room for may fit later. */
const againAfterMs = 300_000;

/** Where it began to look like that, in ms. */
type Since = ReadonlyMap<string, { readonly mark: string; readonly at: number }>;

/** What was done about outputs, by their names. */
export interface Dealt {
  readonly mark: string;
  readonly at: number;
  /** `left`: there was no room for it; `refused`: it is not for there. */
  readonly as: 'brought' | 'left' | 'refused';
}

/** The files of one look as what is to be brought. */
export function outputsOf(files: ReadonlyMap<string, Found>): readonly Output[] {
  const groups = new Map<string, (readonly [string, Found])[]>();
  for (const [key, found] of files) {
    const name = checkpointOf(key)?.name ?? key;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [[key, found]]);
    else group.push([key, found]);
  }
  return [...groups].flatMap(([name, group]) => {
    // Samples of a step, in a folder that is called like it: nobody goes on from pictures.
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

/** Since when each of them has looked as it does now. */
export function noteLook(since: Since, outputs: readonly Output[], now: number): Since {
  return new Map(
    outputs.map(({ name, mark }) => {
      const known = since.get(name);
      return [name, known?.mark === mark ? known : { mark, at: now }];
    }),
  );
}

export interface Looked {
  readonly outputs: readonly Output[];
  readonly since: Since;
  readonly dealt: ReadonlyMap<string, Dealt>;
  readonly now: number;
  /** Nobody writes there any more. */
  readonly isOver: boolean;
  readonly which: 'all' | 'checkpoints';
}

/** What can be brought now, the most wanted first: the newest checkpoint, then samples, then the rest. */
export function planBringing({ outputs, since, dealt, now, isOver, which }: Looked): readonly Output[] {
  const isDue = ({ name, mark, kind }: Output): boolean => {
    const at = since.get(name)?.at ?? now;
    if (!isOver && now - at < quietMs) return false;
    const last = dealt.get(name);
    if (last === undefined) return true;
    if (last.as === 'left') return !isOver && now - last.at >= againAfterMs;
    if (last.mark === mark) return false;
    return isOver || kind !== 'other' || now - last.at >= otherEveryMs;
  };
  const wanted = outputs.filter(output => (which === 'all' || output.kind === 'checkpoint') && isDue(output));
  return wanted.toSorted(
    (a, b) => order[a.kind] - order[b.kind] || (b.step ?? -1) - (a.step ?? -1) || newest(b) - newest(a),
  );
}

const order = { checkpoint: 0, sample: 1, other: 2 } as const;
const newest = ({ files }: Output): number => Math.max(...files.map(([, { changedAt }]) => changedAt));

/**
 * What lay there before the attempt began: nobody knows whether those who wrote it were through with it. The orchestrator has chosen
 * what to go on from without it.
 */
export const leftovers = (outputs: readonly Output[], begunAt: number): readonly Output[] =>
  outputs.filter(output => output.kind === 'checkpoint' && newest(output) < begunAt);

/**
 * What the first look of an agent finds that is older than the newest checkpoint that is there already: it has been brought, and
 * cleared away there since, or nobody has missed it.
 */
export function outdated(outputs: readonly Output[], there: Iterable<string>): readonly Output[] {
  const steps = [...there].map(key => checkpointOf(key)?.step ?? -1);
  const newestThere = steps.reduce((most, step) => Math.max(most, step), -1);
  return outputs.filter(({ step }) => step !== null && step < newestThere);
}
