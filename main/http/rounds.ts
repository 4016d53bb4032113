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
 * burst are visited evenly over it. Turns with nobody in them pass without a timer: a server with little to do is left to sleep.
 */
export function createRounds<T>(everyMs: number, visit: (member: T) => void): Rounds<T> {
  const count = Math.min(mostTurns, Math.max(1, Math.floor(everyMs / shortestTurnMs)));
  const turnMs = everyMs / count;
  const turns = Array.from({ length: count }, () => new Set<T>());
  const turn = (n: number): Set<T> => turns[n % count] ?? new Set();
  /** The turn that was taken last, or passed, and when; and how many there are from it to the one that the timer is set for. */
  let at = 0;
  let since = 0;
  let ahead = 0;
  let timer: NodeJS.Timeout | null = null;
  let joined = 0;

  const move = (by: number): void => {
    at += by;
    since += by * turnMs;
    ahead -= by;
  };
  const setTimer = (): void => {
    if (timer !== null) clearTimeout(timer);
    ahead = turns.findIndex((_, n) => turn(at + n + 1).size > 0) + 1;
    // A visit may have taken longer than a turn, and Node warns of timers in the past.
    const waitMs = Math.max(0, since + ahead * turnMs - performance.now());
    timer = ahead === 0 ? null : setTimeout(takeTurn, waitMs).unref();
  };
  const takeTurn = (): void => {
    move(ahead);
    // A machine that has slept does not make up for it.
    since = Math.max(since, performance.now() - turnMs);
    for (const member of turn(at)) visit(member);
    setTimer();
  };
  return {
    join(member) {
      if (timer === null) since = performance.now();
      else move(Math.min(Math.floor((performance.now() - since) / turnMs), ahead - 1));
      const own = turn(at + count - (joined % count));
      joined += 1;
      own.add(member);
      if (own.size === 1) setTimer();
      return own;
    },
  };
}
