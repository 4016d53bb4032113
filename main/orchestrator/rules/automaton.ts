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
  /** Number of transitions followed: at most the automaton's transitions times the number of characters plus one. */
  readonly steps: number;
}

/**
 * Runs all branches of the automaton in parallel. Each state becomes active at most once per character. So the cost is
 * at most the size of the automaton times the length of the text.
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
