import { maxSecret } from './log-cut.ts';
import { isBlank, type LogPieces } from './log-pieces.ts';
import { followKey, type OpenKey } from './private-keys.ts';
import { latin1Of, showFrom } from './redact.ts';

/**
 * Turns lines into pieces without secrets. A line that is drawn over (a bar) is held until it is known what replaces
 * it.
 */
export interface LogFold {
  endLine(line: Uint8Array, to: number): void;
  drawOver(line: Uint8Array, to: number): void;
  /** Adds the beginning, or a further part, of an unfinished line. */
  addOpen(part: Uint8Array, to: number, isLine: boolean): void;
  /** Adds the held bar to the pieces, if there is one. */
  addBar(): void;
  /** Drops the held bar, because newer text replaces it. */
  dropBar(): void;
  /** Everything up to here was sent already, with this part of the unfinished line. */
  passOver(part: Uint8Array): void;
  /** The part of the unfinished line that was sent, or at least its end, in `latin1`. */
  shown(): string;
  /** Whether a bar is held. */
  holdsBar(): boolean;
  /** Copies the held bytes, because the caller reuses its buffer. */
  own(): void;
}

export interface LogFoldDeps {
  readonly pieces: LogPieces;
  /** Secret values, each in `latin1`. */
  readonly known: () => readonly string[];
  /** The marker line that the log itself has inserted. It is not sent. */
  readonly ownLine: string;
}

export function createLogFold({ pieces, known, ownLine }: LogFoldDeps): LogFold {
  let bar: { readonly line: Uint8Array; readonly to: number } | null = null;
  let context = '';
  let key: OpenKey | null = null;
  const show = (text: string): string => showFrom(text, context.length, known());

  const addBar = (): void => {
    if (bar !== null)
      pieces.add(bar.line.length > 0 ? `${showFrom(latin1Of(bar.line), 0, known())}\r` : '', bar.to, false);
    bar = null;
  };

  return {
    addBar,
    addOpen(part, to, isLine) {
      addBar();
      const text = context + latin1Of(part);
      pieces.add(show(text), to, isLine);
      context = text.slice(-2 * maxSecret);
    },
    endLine(line, to) {
      addBar();
      const text = context + latin1Of(line);
      if (text.endsWith(ownLine)) {
        // The marker may be in the middle of a longer line, which continues after it.
        const before = text.slice(0, Math.max(context.length, text.length - ownLine.length));
        pieces.add(show(before), to, false);
        context = before;
        return;
      }
      const { open, isPart } = followKey(key, text);
      key = open;
      const isHidden = isPart && context === '';
      pieces.add(isHidden ? '' : `${show(text)}\n`, to, !isHidden);
      context = '';
    },
    drawOver(line, to) {
      if (context === '') {
        bar = { line: isBlank(line) ? (bar?.line ?? new Uint8Array()) : line, to };
        return;
      }
      // The beginning of the line was sent already.
      pieces.add(`${show(context + latin1Of(line))}\r`, to, false);
      context = '';
    },
    dropBar() {
      bar = null;
    },
    passOver(part) {
      context = (context + latin1Of(part)).slice(-2 * maxSecret);
      bar = null;
      pieces.clear();
    },
    shown: () => context,
    holdsBar: () => bar !== null,
    own() {
      if (bar !== null) bar = { ...bar, line: Buffer.from(bar.line) };
    },
  };
}
