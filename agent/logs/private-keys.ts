/** Finds private keys in PEM in printed text. */

/** `start` is inclusive, `end` is exclusive. */
export interface Span {
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

/** Returns the parts of this line that belong to private keys. */
export function findKeys(text: string): readonly Span[] {
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

/** Reads one complete line. `isPart`: the line belongs to the open key. `open`: the key that continues on the next line, or null. */
export function followKey(
  open: OpenKey | null,
  line: string,
): { readonly open: OpenKey | null; readonly isPart: boolean } {
  if (open !== null) {
    if (line.includes('-----END ')) return { open: null, isPart: true };
    // The other lines may or may not have the same prefix as the BEGIN line.
    const isKey =
      keyLine.test(line.trim()) ||
      (line.length > open.prefix && keyLine.test(line.slice(open.prefix).trim()));
    if (isKey) return { open, isPart: true };
  }
  const begin = findBegin(line);
  const isOpen = begin !== null && line.slice(begin.end).trim() === '';
  return { open: isOpen ? { prefix: begin.start } : null, isPart: false };
}
