/** Of each interval: ten thousand streams are pinged by a hundred and fifty at a time, and not in one turn of the event loop. */
const mostTurns = 64;
const shortestTurnMs = 20;

/** Visits each of its members once in every interval, by one timer for all of them. */
export interface Rounds<T> {
  /** The first visit comes within the interval. Answers with where it is to be taken out again. */
  join(member: T): Set<T>;
}

/**
 * Whoever joins gets the turn before the one that was given last, and so the first of them a whole interval: those who come in one
 * burst are visited evenly over it.
 */
export function createRounds<T>(everyMs: number, visit: (member: T) => void): Rounds<T> {
  const count = Math.min(mostTurns, Math.max(1, Math.floor(everyMs / shortestTurnMs)));
  const turns = Array.from({ length: count }, () => new Set<T>());
  let timer: NodeJS.Timeout | null = null;
  let at = 0;
  let joined = 0;
  const takeTurn = (): void => {
    at = (at + 1) % count;
    for (const member of turns[at] ?? []) visit(member);
    if (timer === null || turns.some(({ size }) => size > 0)) return;
    clearInterval(timer);
    timer = null;
  };
  return {
    join(member) {
      const turn = turns[(at + count - (joined % count)) % count] ?? new Set();
      joined += 1;
      turn.add(member);
      timer ??= setInterval(takeTurn, everyMs / count).unref();
      return turn;
    },
  };
}
