import { findSecrets, latin1Of, mayGrowIntoSecret } from './redact.ts';

/**
 * Decides where to cut a line that cannot be sent as a whole. A cut never splits a UTF-8 character, nor a secret, so
 * that each part is still recognised.
 */

/** A secret of up to this length is seen whole before its line is cut. */
export const maxSecret = 8 * 1024;

/** Where to cut a line that is too long: at a blank near `longest` if there is one, but never inside a secret. */
export function longCut(
  context: string,
  rest: Uint8Array,
  longest: number,
  known: readonly string[],
): number {
  const blank = Math.max(rest.lastIndexOf(32, longest - 1), rest.lastIndexOf(9, longest - 1)) + 1;
  const cut = blank > (longest * 3) / 4 ? blank : beforeCharacter(rest, longest);
  const text = context + latin1Of(rest);
  const at = context.length + cut;
  const split = findSecrets(text, known).find(({ start, end }) => start < at && at < end);
  if (split === undefined) return cut;
  return split.start > context.length ? split.start - context.length : split.end - context.length;
}

/** How many bytes of an unfinished line can be shown: none that could form a secret with what follows. */
export function openCut(context: string, rest: Uint8Array, known: readonly string[]): number {
  const shown = beforeUnfinished(rest.subarray(0, beforeReturns(rest)));
  const text = context + latin1Of(rest.subarray(0, shown));
  const word = /[^ \t\]]*$/.exec(text.slice(-maxSecret))?.[0] ?? '';
  const grows = mayGrowIntoSecret(text, word) || known.some(value => endsLike(word, value));
  const last = findSecrets(text, known).at(-1);
  const end = Math.min(
    grows ? text.length - word.length : text.length,
    last?.end === text.length ? last.start : text.length,
  );
  return Math.max(0, end - context.length);
}

/** The length without carriage returns at the end. What follows shows whether they end the line. */
const beforeReturns = (bytes: Uint8Array): number => bytes.findLastIndex(byte => byte !== 13) + 1;

/** Whether a word ends with the beginning of a value. */
function endsLike(word: string, value: string): boolean {
  for (let length = Math.min(word.length, value.length); length >= 4; length -= 1)
    if (word.endsWith(value.slice(0, length))) return true;
  return false;
}

const isContinued = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The nearest index, at or before this one, at which a UTF-8 character begins. */
function beforeCharacter(bytes: Uint8Array, at: number): number {
  for (let begin = at; begin >= 0 && begin > at - 4; begin -= 1) if (!isContinued(bytes[begin])) return begin;
  return at;
}

/** The length without an incomplete UTF-8 character at the end. */
function beforeUnfinished(bytes: Uint8Array): number {
  const begin = beforeCharacter(bytes, bytes.length - 1);
  const lead = bytes[begin] ?? 0;
  const wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return begin >= 0 && begin + wanted > bytes.length ? begin : bytes.length;
}
