/**
 * Label patterns: `*` matches any text, `?` one character, `[abc]`, `[a-z]` and `[!a]` one character of a set, and
 * `{a,b}` one of several patterns. `\` escapes the next character. Everything else is literal, including unmatched
 * brackets and braces without a comma.
 */
type Token =
  | { readonly kind: 'character'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'star' }
  | { readonly kind: '{' | ',' | '}' };

/**
 * Compiles a pattern to an automaton for `run`. Each token becomes the state with the same index. There are at most three
 * times as many transitions as tokens.
 */
export function compilePattern(pattern: string): readonly State[] {
  const tokens = tokenize(Array.from(pattern));
  const groups = findGroups(tokens);
  return tokens.map((token, index): State => {
    const next = index + 1;
    if (token.kind === 'character') return { accepts: token.accepts, next, also: [] };
    if (token.kind === 'star') return { accepts: () => true, next: index, also: [next] };
    const also = groups.get(index);
    return also === undefined
      ? { accepts: literal(token.kind), next, also: [] }
      : { accepts: null, next, also };
  });
}

/**
 * Returns the target states of each brace and comma in a group, by index. An opening brace leads to every alternative.
 * Commas and the closing brace lead to the position after the group.
 */
function findGroups(tokens: readonly Token[]): ReadonlyMap<number, readonly number[]> {
  const groups = new Map<number, readonly number[]>();
  const open: { readonly start: number; readonly commas: number[] }[] = [];
  for (const [index, { kind }] of tokens.entries()) {
    if (kind === '{') open.push({ start: index, commas: [] });
    if (kind === ',') open.at(-1)?.commas.push(index);
    const group = kind === '}' ? open.pop() : undefined;
    if (group === undefined || group.commas.length === 0) continue;
    groups.set(
      group.start,
      [group.start, ...group.commas].map(before => before + 1),
    );
    for (const end of [...group.commas, index]) groups.set(end, [index + 1]);
  }
  return groups;
}

function tokenize(characters: readonly string[]): readonly Token[] {
  const tokens: Token[] = [];
  /** False after an unclosed `[`: a later set cannot be closed either. Keeps the time linear. */
  let mayContainSets = true;
  let at = 0;
  for (let character = characters[at]; character !== undefined; character = characters[at]) {
    const set = character === '[' && mayContainSets ? readSet(characters, at + 1) : null;
    if (set !== null) {
      tokens.push({ kind: 'character', accepts: set.accepts });
      at = set.end;
      continue;
    }
    if (character === '[') mayContainSets = false;
    const { taken, width } = readCharacter(characters, at, character);
    tokens.push(width === 2 ? { kind: 'character', accepts: literal(taken) } : plainToken(character));
    at += width;
  }
  return tokens;
}

function plainToken(character: string): Token {
  switch (character) {
    case '*':
      return { kind: 'star' };
    case '?':
      return { kind: 'character', accepts: () => true };
    case '{':
    case ',':
    case '}':
      return { kind: character };
    default:
      return { kind: 'character', accepts: literal(character) };
  }
}

const literal =
  (expected: string) =>
  (character: string): boolean =>
    character === expected;

/** Reads one character. A backslash makes the next character literal. */
function readCharacter(
  characters: readonly string[],
  at: number,
  character: string,
): { readonly taken: string; readonly width: 1 | 2 } {
  const escaped = character === '\\' ? characters[at + 1] : undefined;
  return escaped === undefined ? { taken: character, width: 1 } : { taken: escaped, width: 2 };
}

interface CharacterSet {
  readonly accepts: (character: string) => boolean;
  /** The first position after the set. */
  readonly end: number;
}

/**
 * Reads a set. `start`: the position after the opening bracket. Returns null if the set is not closed. A `]` in the first
 * position is literal.
 */
function readSet(characters: readonly string[], start: number): CharacterSet | null {
  const isNegated = characters[start] === '!' || characters[start] === '^';
  const first = isNegated ? start + 1 : start;
  const ranges: { readonly low: string; readonly high: string }[] = [];
  let at = first;
  for (let character = characters[at]; character !== undefined; character = characters[at]) {
    if (character === ']' && at > first) {
      const accepts = (value: string): boolean =>
        ranges.some(({ low, high }) => low <= value && value <= high) !== isNegated;
      return { accepts, end: at + 1 };
    }
    const low = readCharacter(characters, at, character);
    at += low.width;
    const bound = characters[at] === '-' ? characters[at + 1] : undefined;
    const isRange = bound !== undefined && bound !== ']';
    const high = isRange ? readCharacter(characters, at + 1, bound) : low;
    if (isRange) at += 1 + high.width;
    ranges.push({ low: low.taken, high: high.taken });
  }
  return null;
}

/** A position in a pattern. The position after the last one is the accepting state. */
export interface State {
  /** Tests one character; null when the state consumes none. */
  readonly accepts: ((character: string) => boolean) | null;
  /** The state after that character. */
  readonly next: number;
  /** States that are active whenever this one is (epsilon transitions). */
  readonly also: readonly number[];
}

export interface Run {
  readonly accepted: boolean;
  /** Number of transitions followed. At most: transitions of the automaton × (characters + 1). */
  readonly steps: number;
}

/**
 * Matches the whole text. Runs all branches of the automaton in parallel. Each state becomes active at most once per
 * character. So the cost is at most the size of the automaton times the length of the text.
 */
export function run(states: readonly State[], text: string): Run {
  const seenAt = new Int32Array(states.length + 1).fill(-1);
  let steps = 0;
  let active: number[] = [];
  const enter = (index: number, at: number, into: number[]): void => {
    const waiting = [index];
    for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
      steps += 1;
      if (seenAt[state] === at) continue;
      seenAt[state] = at;
      into.push(state);
      waiting.push(...(states[state]?.also ?? []));
    }
  };
  let at = 0;
  enter(0, at, active);
  for (const character of text) {
    at += 1;
    const following: number[] = [];
    for (const index of active) {
      const state = states[index];
      if (state?.accepts?.(character) === true) enter(state.next, at, following);
    }
    active = following;
    if (active.length === 0) break;
  }
  return { accepted: active.includes(states.length), steps };
}
