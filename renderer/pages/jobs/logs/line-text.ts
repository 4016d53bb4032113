import Anser from 'anser';

/** The hues that replace terminal colours, so that text is readable on light and dark backgrounds. */
export type Hue = 'red' | 'yellow' | 'green' | 'cyan' | 'blue' | 'magenta' | 'grey';
export type Weight = 'bold' | 'dim' | 'italic' | 'underline' | 'strikethrough';

export interface Piece {
  readonly text: string;
  /** Offset of the piece in the displayed line. */
  readonly start: number;
  readonly hue: Hue | null;
  readonly weights: readonly Weight[];
  /** True when the piece is a match of the search. */
  readonly isHit: boolean;
}

const escape = '\u001B';
const bell = '\u0007';
const weights: ReadonlySet<string> = new Set<Weight>(['bold', 'dim', 'italic', 'underline', 'strikethrough']);
const isWeight = (word: string): word is Weight => weights.has(word);

/**
 * Splits a line into pieces with one style each. The text is what a terminal would finally show. Ignores all escape
 * sequences except those for style.
 */
export function piecesOf(line: string, search = ''): readonly Piece[] {
  const parts = Anser.ansiToJson(sanitized(line), { json: true, remove_empty: true }).map(
    ({ content, fg, bg, decorations }) => ({
      text: content,
      // For inverted text, one of the two colours is the default; use the other one.
      hue: hueOf(fg) ?? hueOf(bg),
      weights: [...new Set(decorations)].filter(isWeight),
    }),
  );
  return cutAtHits(parts, search);
}

/** Returns the text of a line as a terminal would finally show it, without styles. */
export const plainText = (line: string): string =>
  piecesOf(line)
    .map(({ text }) => text)
    .join('');

type Part = Omit<Piece, 'isHit' | 'start'>;

function cutAtHits(parts: readonly Part[], search: string): readonly Piece[] {
  const whole = parts.map(({ text }) => text).join('');
  const hits = search === '' ? [] : hitsIn(whole, search);
  const pieces: Piece[] = [];
  let start = 0;
  for (const part of parts) {
    const end = start + part.text.length;
    // Cut the part where matches begin and end inside it.
    const cuts = hits.flat().filter(at => at > start && at < end);
    const edges = [start, ...cuts, end];
    for (const [at, from] of edges.slice(0, -1).entries()) {
      const to = edges[at + 1] ?? end;
      const isHit = hits.some(([first, last]) => first <= from && to <= last);
      pieces.push({ ...part, text: whole.slice(from, to), start: from, isHit });
    }
    start = end;
  }
  return pieces;
}

/**
 * Returns the offsets of all matches, ignoring case. Does not lowercase the text, because lowercasing could change the
 * offsets.
 */
function hitsIn(text: string, search: string): readonly (readonly [from: number, to: number])[] {
  const pattern = new RegExp(search.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`), 'giu');
  return Array.from(text.matchAll(pattern), ({ index, 0: hit }) => [index, index + hit.length] as const);
}

/**
 * Keeps escape sequences for colour and weight, and removes all others. Replaces bidirectional control characters,
 * which could reorder the text, by visible text such as `⟨U+202E⟩`.
 */
function sanitized(line: string): string {
  const [first = '', ...rest] = lastDrawn(line).replaceAll('\u009B', `${escape}[`).split(escape);
  const plainTexts = rest.map((part, at) => withoutSequence(part, rest[at + 1]?.startsWith('\\') === true));
  return [first, ...plainTexts]
    .join('')
    .replaceAll(/\p{Cc}/gu, control => (control === '\t' || control === escape ? control : ''))
    .replaceAll(/\p{Bidi_Control}/gu, visibleCodePoint);
}

const visibleCodePoint = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/**
 * Returns the text after the last carriage return that is followed by text, because that text overwrites everything
 * before it.
 */
const lastDrawn = (line: string): string => line.split('\r').findLast(part => part !== '') ?? '';

/** Removes the ECMA-48 or xterm sequence that follows an escape character, unless the sequence sets a style. */
function withoutSequence(part: string, isStringEnded: boolean): string {
  const [colour] = /^\[[\d;]*m/.exec(part) ?? [];
  if (colour !== undefined) return escape + part;
  const [control] = /^\[[0-?]*[ -/]*[@-~]/.exec(part) ?? [];
  if (control !== undefined) return part.slice(control.length);
  if (/^[\]PX^_]/.test(part)) {
    const end = part.indexOf(bell);
    if (end !== -1) return part.slice(end + 1);
    // An unterminated string sequence would hide the rest of the line, so remove only its introducer.
    return isStringEnded ? '' : part.slice(1);
  }
  return part.replace(/^[ -/]*[0-~]/, '');
}

/** Returns the hue of a colour in the format `r, g, b`. Returns null without a colour, and for black and white. */
function hueOf(colour: string | null): Hue | null {
  if (colour === null || colour === '') return null;
  const [red = 0, green = 0, blue = 0] = colour.split(',').map(Number);
  const brightest = Math.max(red, green, blue);
  const spread = brightest - Math.min(red, green, blue);
  // Show black and white in the default colour of the page, which is readable in both themes.
  if (spread < 40) return brightest > 40 && brightest < 200 ? 'grey' : null;
  if (brightest === red) return hueAt(60 * (((green - blue) / spread + 6) % 6));
  return hueAt(brightest === green ? 60 * ((blue - red) / spread + 2) : 60 * ((red - green) / spread + 4));
}

/** Returns the hue that is nearest to an HSL hue in degrees. */
function hueAt(degrees: number): Hue {
  const hues: readonly Hue[] = ['red', 'yellow', 'green', 'cyan', 'blue', 'magenta'];
  return hues[Math.round(degrees / 60) % 6] ?? 'red';
}
