import { createBackoff, pause } from './backoff.ts';
import { sizeInWords } from './checkpoint-fetch.ts';
import { createOutputBook, type OutputBook, type OutputBookParts } from './output-book.ts';
import { type BringEnd, createSender, type Sender } from './output-sender.ts';
import type { Output } from './outputs.ts';
import { storageVerdict, wordsOfFailure } from './storage-verdict.ts';
import type { UploadParts } from './upload.ts';

/** Uploads what a trainer makes to the orchestrator. */
export interface Bringer {
  /** Resolves when no more is uploaded; true when that was all, or all that is wanted. */
  readonly done: Promise<boolean>;
  /**
   * The trainer has ended: nobody changes anything any more. `completed`: everything is uploaded, however long that takes, until the
   * server closes the uploads. `preempted`: only checkpoints are, and nothing is tried twice.
   */
  finish(end: 'completed' | 'preempted'): void;
  stop(): void;
}

export interface BringerParts extends UploadParts, Pick<OutputBookParts, 'root' | 'images' | 'begunAt'> {
  readonly which: 'all' | 'checkpoints';
  readonly say: (message: string) => void;
}

const leastPauseMs = 2_500;
const mostPauseMs = 60_000;
const relookMs = 5_000;
/** An attempt that was given up may get its say back. */
const overPauseMs = 60_000;
const listBackoff = { firstMs: 1_000, mostMs: 30_000 } as const;
/** After a completed end: the server has no room, a proxy refuses files, or the server has not accepted the end yet. */
const finalBackoff = { firstMs: 2_000, mostMs: 300_000 } as const;

/** Brings one output after the other, on no other call's way: the most wanted of those that nobody writes any more. */
export function createBringer(parts: BringerParts): Bringer {
  const { clock, root, images, begunAt, say, random } = parts;
  let { which } = parts;
  let ending: 'completed' | 'preempted' | null = null;
  const over = new AbortController();
  const stopped = new AbortController();
  const signal = AbortSignal.any([parts.signal, stopped.signal]);
  const restless = AbortSignal.any([signal, over.signal]);
  const sayOnce = createSayOnce(say);
  const onFlaw = (flaw: string): void => sayOnce(`Some files in ${root} are not uploaded: ${flaw}`);
  const book = createOutputBook({ root, images, clock, begunAt, onFlaw });
  const backoff = createBackoff({ ...finalBackoff, random });
  const conclude = createConclusion({ ...parts, signal }, book);
  let sender: Sender | null = null;
  let isLast = false;
  let whyLeft: string | null = null;

  const bring = async (output: Output, by: Sender): Promise<BringEnd> => {
    const end = await by.bring(output);
    book.note(output, end);
    if (end.kind === 'brought') backoff.reset();
    if (end.kind === 'no_room') whyLeft = end.why;
    sayEnd(output, end, say, sayOnce);
    return end;
  };

  const finalPauseMs = (): number => 200 + backoff.nextMs();
  /** The server does not take uploads of this attempt now. */
  const waitForServer = (): number | null => {
    if (ending === null) return overPauseMs;
    return ending === 'completed' ? finalPauseMs() : null;
  };
  /** Nothing is due. Returns the pause in ms; null when the bringer is through. */
  const rest = async (lookMs: number, isOver: boolean): Promise<number | null> => {
    if (!isOver) return Math.min(mostPauseMs, Math.max(leastPauseMs, 20 * lookMs));
    if (ending === 'preempted' || (await conclude(which, whyLeft))) return null;
    book.retry();
    return finalPauseMs();
  };

  /** Returns the pause until the next turn in ms; null when the bringer is through. */
  const turn = async (): Promise<number | null> => {
    const isOver = over.signal.aborted;
    if (isOver && !isLast) {
      isLast = true;
      // The trainer may have sent some of it itself; and what there was no room for is tried again.
      sender = null;
      book.retry();
    }
    const beganAt = clock.mono();
    const isBehind = await book.look(which);
    const now = clock.mono();
    const due = book.due(isOver, which);
    if (due.length === 0) return isBehind ? 0 : rest(now - beganAt, isOver);
    if (sender === null) {
      const there = await askWhatIsThere({ ...parts, signal }, sayOnce);
      if (typeof there === 'string') return there === 'closed' ? null : waitForServer();
      book.know(there.keys());
      sender = createSender(there, { ...parts, pathOf: book.pathOf, signal });
      return 0;
    }
    let waitMs = 0;
    for (const output of due) {
      const { kind } = await bring(output, sender);
      if (kind === 'closed') return null;
      if (kind === 'over') return waitForServer();
      if (kind === 'changed') waitMs = leastPauseMs;
      // Something that is wanted more may have come.
      if (signal.aborted || clock.mono() - now > relookMs || over.signal.aborted !== isOver) break;
    }
    return waitMs;
  };

  const run = async (): Promise<boolean> => {
    while (!signal.aborted) {
      const waitMs = await turn();
      if (waitMs === null && !signal.aborted) return true;
      if (waitMs) await pause(clock, waitMs, over.signal.aborted ? signal : restless);
    }
    return stopped.signal.aborted;
  };
  const finish: Bringer['finish'] = end => {
    ending = end;
    if (end === 'preempted') which = 'checkpoints';
    over.abort();
  };
  return { done: run(), finish, stop: () => stopped.abort() };
}

/** Reports what is left after a completed end, and again when that has changed. Resolves with true when the uploads are closed. */
function createConclusion({ storage, signal }: Pick<BringerParts, 'storage' | 'signal'>, book: OutputBook) {
  let reported = '';
  return async (which: BringerParts['which'], why: string | null): Promise<boolean> => {
    const left = book.left(which).flatMap(({ files }) => files);
    const bytes = left.reduce((sum, [, found]) => sum + found.bytes, 0);
    const report = { files: left.length, bytes, reason: left.length === 0 ? null : why };
    const text = JSON.stringify(report);
    if (text === reported) return false;
    const answer = await storage.reportOutstanding(report, signal);
    if (answer.ok) reported = text;
    const verdict = answer.ok ? null : storageVerdict(answer.failure);
    // An older server does not know the call, and closes the uploads by the time alone.
    if (verdict === 'closed') return true;
    return left.length === 0 && (verdict === null || verdict === 'refused');
  };
}

function createSayOnce(say: (message: string) => void): (message: string) => void {
  const told = new Set<string>();
  return message => {
    if (told.has(message)) return;
    told.add(message);
    say(message);
  };
}

function sayEnd(
  output: Output,
  end: BringEnd,
  say: (message: string) => void,
  sayOnce: (message: string) => void,
): void {
  if ('why' in end) sayOnce(`${output.name} is not brought to the orchestrator: ${end.why}`);
  else if (end.kind === 'brought' && output.kind === 'checkpoint') sayBrought(output, say);
}

function sayBrought({ name, files }: Output, say: (message: string) => void): void {
  const bytes = files.reduce((sum, [, found]) => sum + found.bytes, 0);
  say(`Brought ${name} to the orchestrator (${sizeInWords(bytes)})`);
}

/** By key; `closed` also when the orchestrator does not know what is asked for. */
async function askWhatIsThere(
  { storage, clock, random, signal }: BringerParts,
  say: (message: string) => void,
): Promise<Map<string, string> | 'over' | 'closed'> {
  const backoff = createBackoff({ ...listBackoff, random });
  for (;;) {
    const answer = await storage.list(signal);
    if (answer.ok) return new Map(answer.value);
    const verdict = storageVerdict(answer.failure);
    if (verdict === 'over' || verdict === 'closed') return verdict;
    // The server answers a full disk, or a move of its database, to every call.
    if (verdict === 'refused') {
      say(`What this training makes is not brought to the orchestrator: ${wordsOfFailure(answer.failure)}`);
      return 'closed';
    }
    if (!(await pause(clock, 200 + backoff.nextMs(), signal))) return 'over';
  }
}
