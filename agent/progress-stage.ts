import { cleanLine } from '../protocol/line.ts';
import type { OutputItem } from './progress.ts';
import { stripAnsi } from './progress-line.ts';
import { latin1, showFrom } from './redact.ts';

/** What a trainer's output says in words: the stage of the run, and the newest line of its log. */
export interface Words {
  readonly stage: string | null;
  /** As printed, at most 64 KiB: `shownLine` makes it fit to leave the rig. */
  readonly line: string | null;
}

/** SimpleTuner's own names of stages, each with what its lines contain. The first that matches counts. */
const stages: readonly (readonly [string, RegExp])[] = [
  ['Preprocessing', /\bpre-?process|\bloading\b/i],
  ['Warmup', /\bwarm(?:ing)?[ -]?up\b/i],
  ['Validation', /\bvalidat/i],
  ['Saving checkpoint', /\bcheckpoint(?:-\d+)?\b/i],
];

/** What comes later in a line is detail. */
const stageChars = 400;

/** Follows the stage through the items of an output. Figures of a step mean that the run trains. */
export function createWordsReader() {
  let words: Words = { stage: null, line: null };
  return {
    note(item: OutputItem): void {
      if (item.kind === 'progress') {
        const { stage, step } = item.progress;
        if (stage !== undefined || step !== undefined) words = { ...words, stage: stage ?? 'Training' };
      } else if (!item.redraw && item.text.trim() !== '') {
        const head = item.text.slice(0, stageChars);
        const [stage = words.stage] = stages.find(([, pattern]) => pattern.test(head)) ?? [];
        words = { stage, line: item.text };
      }
    },
    words: (): Words => words,
  };
}

/** As long as SimpleTuner's own progress call makes it. */
const lineChars = 80;
/** More than that of a longer line is never looked at. */
const searchedChars = 4_096;
/** A row of a private key, or another blob: no word has so many of these. */
const blob = /[A-Za-z0-9+/=_-]{48,}/g;

/** One line of plain text without secrets, cut to what fits beside a bar. */
export function shownLine(line: string, known: readonly string[]): string {
  const plain = stripAnsi(line.slice(0, searchedChars));
  const shown = showFrom(latin1(plain), 0, known.map(latin1)).replaceAll(blob, '[redacted]');
  return cleanLine(shown).trim().slice(0, lineChars).toWellFormed();
}
