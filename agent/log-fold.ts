import { longestSecret } from './log-cut.ts';
import { isBlank } from './log-lines.ts';
import type { LogPieces } from './log-pieces.ts';
import { followKey, type OpenKey } from './private-keys.ts';
import { latin1Of, showFrom } from './redact.ts';

/** Makes pieces of lines: those that are drawn over wait for what comes next, and secrets are taken out. */
export interface LogFold {
  endLine(line: Uint8Array, to: number): void;
  drawOver(line: Uint8Array, to: number): void;
  /** The beginning, or a further part, of a line that goes on. */
  addOpen(part: Uint8Array, to: number, isLine: boolean): void;
  /** The newest bar goes out, unless it has. */
  addBar(): void;
  /** Something newer takes the place of the bar. */
  dropBar(): void;
  /** All up to here has gone out, with this of the line that goes on. */
  passOver(part: Uint8Array): void;
  /** What has gone out of the line that goes on, at least the end of it; in `latin1`. */
  shown(): string;
  /** Whether a bar waits. */
  holdsBar(): boolean;
  /** Lets go of bytes that are somebody else's. */
  own(): void;
}

export interface LogFoldParts {
  readonly pieces: LogPieces;
  /** Values that are secret, each in `latin1`. */
  readonly known: () => readonly string[];
  /** A line that the log itself has put there. */
  readonly ownLine: string;
}

export function createLogFold({ pieces, known, ownLine }: LogFoldParts): LogFold {
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
      context = text.slice(-2 * longestSecret);
    },
    endLine(line, to) {
      addBar();
      const text = context + latin1Of(line);
      if (text.endsWith(ownLine)) {
        // It may stand in the middle of a longer line, which goes on after it.
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
      // Its beginning has been shown.
      pieces.add(`${show(context + latin1Of(line))}\r`, to, false);
      context = '';
    },
    dropBar() {
      bar = null;
    },
    passOver(part) {
      context = (context + latin1Of(part)).slice(-2 * longestSecret);
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
