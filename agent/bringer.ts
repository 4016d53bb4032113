import { createBackoff, pause } from './backoff.ts';
import { sizeInWords } from './checkpoint-fetch.ts';
import { createOutputBook, type OutputBookParts } from './output-book.ts';
import { type BringEnd, createSender, type Sender, type SenderParts } from './output-sender.ts';
import type { Output } from './outputs.ts';
import { storageVerdict, wordsOfFailure } from './storage-verdict.ts';

/** What a trainer makes, on its way to the orchestrator. */
export interface Bringer {
  /** Resolves when no more is brought; true when that was all, or all that is wanted. */
  readonly done: Promise<boolean>;
  /** The trainer has ended: nobody changes anything any more. What is given is all that is still wanted. */
  finish(wanted?: 'checkpoints'): void;
  stop(): void;
}

export interface BringerParts extends SenderParts, Pick<OutputBookParts, 'begunAt'> {
  readonly which: 'all' | 'checkpoints';
  readonly say: (message: string) => void;
}

const leastPauseMs = 2_500;
const mostPauseMs = 60_000;
const relookMs = 5_000;
/** An attempt that was given up may get its say back. */
const overPauseMs = 60_000;
const listBackoff = { firstMs: 1_000, mostMs: 30_000 } as const;

/** Brings one output after the other, on no other call's way: the most wanted of those that nobody writes any more. */
export function createBringer(parts: BringerParts): Bringer {
  const { clock, root, begunAt, say } = parts;
  let { which } = parts;
  const over = new AbortController();
  const stopped = new AbortController();
  const signal = AbortSignal.any([parts.signal, stopped.signal]);
  const restless = AbortSignal.any([signal, over.signal]);
  const sayOnce = createSayOnce(say);
  const onFlaw = (flaw: string): void =>
    sayOnce(`Of what is in ${root} not all is brought to the orchestrator: ${flaw}`);
  const book = createOutputBook({ root, clock, begunAt, onFlaw });
  let sender: Sender | null = null;
  let isLast = false;

  /** Null when there is no more to be said to it. */
  const open = async (): Promise<Sender | null> => {
    const there = await askWhatIsThere({ ...parts, signal }, sayOnce);
    if (there === null) return null;
    book.know(there.keys());
    return createSender(there, { ...parts, signal });
  };

  const bring = async (output: Output, by: Sender): Promise<BringEnd> => {
    const end = await by.bring(output);
    book.note(output, end);
    if ('why' in end) sayOnce(`${output.name} is not brought to the orchestrator: ${end.why}`);
    else if (end.kind === 'brought' && output.kind === 'checkpoint') sayBrought(output, say);
    return end;
  };

  /** What keeps it from going on at once, in ms; null when it is through. */
  const turn = async (): Promise<number | null> => {
    const isOver = over.signal.aborted;
    if (isOver && !isLast) {
      isLast = true;
      // The trainer may have sent some of it itself; and what there was no room for is tried a last time.
      sender = null;
      book.retry();
    }
    const beganAt = clock.mono();
    await book.look();
    const now = clock.mono();
    const due = book.due(isOver, which);
    if (due.length === 0)
      return isOver ? null : Math.min(mostPauseMs, Math.max(leastPauseMs, 20 * (now - beganAt)));
    if (sender === null) {
      sender = await open();
      return sender === null ? (isOver ? null : overPauseMs) : 0;
    }
    let waitMs = 0;
    for (const output of due) {
      const { kind } = await bring(output, sender);
      if (kind === 'over') return isOver ? null : overPauseMs;
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
  const finish: Bringer['finish'] = wanted => {
    which = wanted ?? which;
    over.abort();
  };
  return { done: run(), finish, stop: () => stopped.abort() };
}

function createSayOnce(say: (message: string) => void): (message: string) => void {
  const told = new Set<string>();
  return message => {
    if (told.has(message)) return;
    told.add(message);
    say(message);
  };
}

function sayBrought({ name, files }: Output, say: (message: string) => void): void {
  const bytes = files.reduce((sum, [, found]) => sum + found.bytes, 0);
  say(`Brought ${name} to the orchestrator (${sizeInWords(bytes)})`);
}

/** By key; null when this attempt has no say any more, or the orchestrator does not know what is asked for. */
async function askWhatIsThere(
  { storage, clock, random, signal }: BringerParts,
  say: (message: string) => void,
): Promise<Map<string, string> | null> {
  const backoff = createBackoff({ ...listBackoff, random });
  for (;;) {
    const answer = await storage.list(signal);
    if (answer.ok) return new Map(answer.value);
    const verdict = storageVerdict(answer.failure);
    if (verdict === 'over') return null;
    if (verdict !== 'later') {
      say(`What this training makes is not brought to the orchestrator: ${wordsOfFailure(answer.failure)}`);
      return null;
    }
    if (!(await pause(clock, 200 + backoff.nextMs(), signal))) return null;
  }
}
