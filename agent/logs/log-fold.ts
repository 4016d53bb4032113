import { isBlank, type LogPieces } from './log-pieces.ts';
import { findSecrets, followKey, latin1Of, mayGrowIntoSecret, type OpenKey, showFrom } from './redact.ts';

/** The maximum length of a secret, in characters, that is always recognized, even in a line that is cut. */
export const maxSecret = 8 * 1024;

/**
 * Converts lines to pieces without secrets. A progress bar, which the next line overwrites, is held back until its
 * successor is known.
 */
export interface LogFold {
  /** Adds a line that ends with a line feed, or the rest of such a line. `to`: the offset of the next line. */
  endLine(line: Uint8Array, to: number): void;
  /** Adds a progress bar that the next line overwrites, or the rest of such a bar. */
  drawOver(line: Uint8Array, to: number): void;
  /** Adds the beginning, or a further part, of an unfinished line. */
  addOpen(part: Uint8Array, to: number, isLine: boolean): void;
  /** Adds the bar that is held back to the pieces, if there is one. */
  addBar(): void;
  /** Drops the bar that is held back, because newer text overwrites it. */
  dropBar(): void;
  /** Skips everything so far, including this part of the unfinished line, because it was already sent. */
  skipSent(part: Uint8Array): void;
  /** Returns the part of the unfinished line that was sent, or at least the end of that part, in `latin1`. */
  sentPart(): string;
  /** Whether a bar is held back. */
  holdsBar(): boolean;
  /** Copies the bytes of a bar that is held back, because the caller reuses its buffer. */
  copyHeldBytes(): void;
}

export interface LogFoldDeps {
  readonly pieces: LogPieces;
  /** Returns the secret values, each in `latin1`. */
  readonly knownSecrets: () => readonly string[];
  /** The marker line that the guard's log has inserted. The fold drops this line. */
  readonly ownLine: string;
}

export function createLogFold({ pieces, knownSecrets, ownLine }: LogFoldDeps): LogFold {
  let bar: { readonly line: Uint8Array; readonly to: number } | null = null;
  let context = '';
  let openKey: OpenKey | null = null;
  const redact = (text: string): string => showFrom(text, context.length, knownSecrets());

  const addBar = (): void => {
    if (bar !== null)
      pieces.add(
        bar.line.length > 0 ? `${showFrom(latin1Of(bar.line), 0, knownSecrets())}\r` : '',
        bar.to,
        false,
      );
    bar = null;
  };

  return {
    addBar,
    addOpen(part, to, isLine) {
      addBar();
      const text = context + latin1Of(part);
      pieces.add(redact(text), to, isLine);
      context = text.slice(-2 * maxSecret);
    },
    endLine(line, to) {
      addBar();
      const text = context + latin1Of(line);
      if (text.endsWith(ownLine)) {
        // The marker may be in the middle of a longer line, which continues after it.
        const before = text.slice(0, Math.max(context.length, text.length - ownLine.length));
        pieces.add(redact(before), to, false);
        context = before;
        return;
      }
      const { open, isPart } = followKey(openKey, text);
      openKey = open;
      const isHidden = isPart && context === '';
      pieces.add(isHidden ? '' : `${redact(text)}\n`, to, !isHidden);
      context = '';
    },
    drawOver(line, to) {
      if (context === '') {
        bar = { line: isBlank(line) ? (bar?.line ?? new Uint8Array()) : line, to };
        return;
      }
      // The beginning of this bar was already sent, so send the rest instead of holding it back.
      pieces.add(`${redact(context + latin1Of(line))}\r`, to, false);
      context = '';
    },
    dropBar() {
      bar = null;
    },
    skipSent(part) {
      context = (context + latin1Of(part)).slice(-2 * maxSecret);
      bar = null;
      pieces.clear();
    },
    sentPart: () => context,
    holdsBar: () => bar !== null,
    copyHeldBytes() {
      if (bar !== null) bar = { ...bar, line: Buffer.from(bar.line) };
    },
  };
}

/**
 * Returns where to cut a line that is too long: at the last blank before `maxBytes` if that is near. The cut never splits a UTF-8
 * character or a secret.
 */
export function longCut(
  context: string,
  rest: Uint8Array,
  maxBytes: number,
  knownSecrets: readonly string[],
): number {
  const blank = Math.max(rest.lastIndexOf(32, maxBytes - 1), rest.lastIndexOf(9, maxBytes - 1)) + 1;
  const cut = blank > (maxBytes * 3) / 4 ? blank : beforeCharacter(rest, maxBytes);
  const text = context + latin1Of(rest);
  const cutInText = context.length + cut;
  const split = findSecrets(text, knownSecrets).find(
    ({ start, end }) => start < cutInText && cutInText < end,
  );
  if (split === undefined) return cut;
  return split.start > context.length ? split.start - context.length : split.end - context.length;
}

/** Returns how many bytes of an unfinished line can be sent. Bytes that may be the start of a secret must wait. */
export function openCut(context: string, rest: Uint8Array, knownSecrets: readonly string[]): number {
  const shown = beforeUnfinished(rest.subarray(0, beforeReturns(rest)));
  const text = context + latin1Of(rest.subarray(0, shown));
  const word = /[^ \t\]]*$/.exec(text.slice(-maxSecret))?.[0] ?? '';
  const grows = mayGrowIntoSecret(text, word) || knownSecrets.some(value => endsWithPrefixOf(word, value));
  const last = findSecrets(text, knownSecrets).at(-1);
  const end = Math.min(
    grows ? text.length - word.length : text.length,
    last?.end === text.length ? last.start : text.length,
  );
  return Math.max(0, end - context.length);
}

/** Returns the length without carriage returns at the end. The next byte decides whether they end the line. */
const beforeReturns = (bytes: Uint8Array): number => bytes.findLastIndex(byte => byte !== 13) + 1;

/** Whether a word ends with the beginning of a value. */
function endsWithPrefixOf(word: string, value: string): boolean {
  for (let length = Math.min(word.length, value.length); length >= 4; length -= 1)
    if (word.endsWith(value.slice(0, length))) return true;
  return false;
}

const isContinuationByte = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;

/** Returns the nearest index, at or before this one, at which a UTF-8 character begins. */
function beforeCharacter(bytes: Uint8Array, at: number): number {
  for (let begin = at; begin >= 0 && begin > at - 4; begin -= 1)
    if (!isContinuationByte(bytes[begin])) return begin;
  return at;
}

/** Returns the length without an incomplete UTF-8 character at the end. */
function beforeUnfinished(bytes: Uint8Array): number {
  const begin = beforeCharacter(bytes, bytes.length - 1);
  const length = characterBytes(bytes[begin] ?? 0);
  return begin >= 0 && begin + length > bytes.length ? begin : bytes.length;
}

/** Returns the length in bytes of the UTF-8 character that begins with this byte. */
function characterBytes(firstByte: number): number {
  if (firstByte >= 0xf0) return 4;
  if (firstByte >= 0xe0) return 3;
  return firstByte >= 0xc0 ? 2 : 1;
}
