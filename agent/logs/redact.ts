import { mayContainSecret, secretPatterns } from './secret-patterns.ts';

/**
 * Removes secrets from a trainer's output before it is sent. Texts here are in `latin1`, one character per byte, so that
 * an index in the text is also an index in the bytes. All patterns are ASCII.
 */

const redacted = '[redacted]';

/** The minimum length of a known secret value. Shorter values would also match in the middle of ordinary words. */
const minKnownLength = 8;

/**
 * Long texts are searched in overlapping windows, which bounds the work of each pattern. A secret longer than the
 * overlap may be missed.
 */
const windowLength = 64 * 1024;
const overlap = 16 * 1024;

/**
 * Returns the secrets in a text, in order. Adjacent secrets are merged. `knownSecrets`: values in `latin1`, which are
 * found anywhere.
 */
export function findSecrets(text: string, knownSecrets: readonly string[]): readonly Span[] {
  if (text.length <= windowLength) return mergeSpans(findIn(text, knownSecrets));
  const spans: Span[] = [];
  for (let from = 0; from < text.length - overlap; from += windowLength - overlap) {
    for (const { start, end } of findIn(text.slice(from, from + windowLength), knownSecrets))
      spans.push({ start: from + start, end: from + end });
  }
  return mergeSpans(spans);
}

function findIn(text: string, knownSecrets: readonly string[]): readonly Span[] {
  const spans: Span[] = [];
  for (const value of knownSecrets) findKnown(text, value, spans);
  if (!mayContainSecret(text)) return spans;
  for (const { pattern, accept = () => true } of secretPatterns) {
    for (const match of text.matchAll(pattern)) {
      const secret = match.slice(1).findLast(group => group !== undefined) ?? match[0];
      const end = match.index + match[0].length;
      if (secret !== '' && secret !== redacted && accept(secret))
        spans.push({ start: end - secret.length, end });
    }
  }
  return [...spans, ...findKeys(text)];
}

function findKnown(text: string, value: string, spans: Span[]): void {
  if (value.length < minKnownLength) return;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
    spans.push({ start: at, end: at + value.length });
}

function mergeSpans(spans: readonly Span[]): readonly Span[] {
  if (spans.length === 0) return spans;
  const all: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last === undefined || last.end < span.start) all.push(span);
    else all[all.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
  }
  return all;
}

export const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
export const latin1Of = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString();

/**
 * Returns the text from `from` on, with secrets replaced. The text before `from` was already sent, so a secret that starts
 * there was already replaced.
 */
export function showFrom(text: string, from: number, knownSecrets: readonly string[]): string {
  const secrets = findSecrets(text, knownSecrets);
  if (secrets.length === 0) return utf8(text.slice(from));
  let shown = '';
  let at = from;
  for (const { start, end } of secrets) {
    if (end <= from) continue;
    shown += utf8(text.slice(at, Math.max(at, start)));
    if (start >= from || !endsInSecret(text.slice(0, from), knownSecrets)) shown += redacted;
    at = end;
  }
  return shown + utf8(text.slice(at));
}

function endsInSecret(text: string, knownSecrets: readonly string[]): boolean {
  return findSecrets(text, knownSecrets).at(-1)?.end === text.length;
}

/** Prefixes that identify a secret by themselves. */
const secretPrefixes = (
  'hf_ api_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox xapp- wandb_ r8_ sk- sk_ rk_ ' +
  'wt_ tj_ ta_ tk_ ts_ tu_ AKIA ASIA eyJ -----BEGIN'
).split(' ');

/** Whether the rest of the line could turn its last word into a secret. If so, the word must not be sent yet. */
export const mayGrowIntoSecret = (text: string, word: string): boolean =>
  /key|token|secret|passw|bearer|auth|login|:\/\/|-----|hooks|discord/i.test(text) ||
  secretPrefixes.some(prefix => containsPrefix(word, prefix));

/** Whether a word contains the prefix, or ends with a part of it. */
function containsPrefix(word: string, prefix: string): boolean {
  if (word.includes(prefix)) return true;
  for (let length = prefix.length - 1; length > 0; length -= 1) {
    if (word.endsWith(prefix.slice(0, length)) && !/[A-Za-z0-9]/.test(word.at(-length - 1) ?? ''))
      return true;
  }
  return false;
}

/** Returns a text with its secrets replaced. `known`: secret values that are replaced anywhere. */
export function redact(text: string, known: readonly string[] = []): string {
  const values = known.map(latin1);
  let open: OpenKey | null = null;
  const shown: string[] = [];
  const lines = latin1(text).split('\n');
  for (const [at, line] of lines.entries()) {
    const key = followKey(open, line);
    open = key.open;
    const isTrailingBreak = line === '' && at === lines.length - 1;
    if (!key.isPart || isTrailingBreak) shown.push(showFrom(line, 0, values));
  }
  return shown.join('\n');
}

/** A part of a text. `start` is inclusive, `end` is exclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

const keyWords = String.raw` (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----`;
const findFrom = (text: string, word: string, from: number): Span | null => {
  const pattern = new RegExp(`-----${word}${keyWords}`, 'g');
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  return match && { start: match.index, end: pattern.lastIndex };
};
const findBegin = (text: string, from = 0): Span | null =>
  text.includes('-----BEGIN ', from) ? findFrom(text, 'BEGIN', from) : null;

/** Returns the parts of this line that belong to private keys in PEM. */
function findKeys(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (let begin = findBegin(text); begin !== null; ) {
    const end = findFrom(text, 'END', begin.end)?.end ?? text.length;
    spans.push({ start: begin.start, end });
    begin = findBegin(text, end);
  }
  return spans;
}

/** A private key whose end has not been seen yet. `prefix` is the length of the text in front of its BEGIN line. */
export interface OpenKey {
  readonly prefix: number;
}

const keyLine = /^(?:[A-Za-z0-9+/=]{0,200}|(?:Proc-Type|DEK-Info|Version|Comment): .{0,200})$/;

/**
 * Reads one complete line. Returns `isPart`: whether the line belongs to the open key. Returns `open`: the key that
 * continues on the next line; null for none.
 */
export function followKey(
  open: OpenKey | null,
  line: string,
): { readonly open: OpenKey | null; readonly isPart: boolean } {
  if (open !== null) {
    if (line.includes('-----END ')) return { open: null, isPart: true };
    // The lines of the key may have the same prefix as the BEGIN line, for example the time of a log.
    const isKey =
      keyLine.test(line.trim()) ||
      (line.length > open.prefix && keyLine.test(line.slice(open.prefix).trim()));
    if (isKey) return { open, isPart: true };
  }
  const begin = findBegin(line);
  const isOpen = begin !== null && line.slice(begin.end).trim() === '';
  return { open: isOpen ? { prefix: begin.start } : null, isPart: false };
}
