/** Turns per interval. With ten thousand streams, each turn pings about 150 instead of all at once. */
const maxTurns = 64;
const shortestTurnMs = 20;

/** Visits each member once per interval, with one timer for all members. */
export interface Rounds<T> {
  /** Adds a member; the first visit follows within one interval. Returns the set from which to remove the member. */
  join(member: T): Set<T>;
}

/**
 * New members join turns in reverse order, starting with the turn just taken, whose next visit is a whole interval away. A burst of members
 * is thus spread evenly over the interval. Empty turns need no timer, so an idle server can sleep.
 */
export function createRounds<T>(everyMs: number, visit: (member: T) => void): Rounds<T> {
  const count = Math.min(maxTurns, Math.max(1, Math.floor(everyMs / shortestTurnMs)));
  const turnMs = everyMs / count;
  const turns = Array.from({ length: count }, () => new Set<T>());
  const turn = (n: number): Set<T> => turns[n % count] ?? new Set();
  /**
   * `at` is the last turn taken or skipped, and `since` its time. `ahead` counts the turns from there to the one that the timer is set for.
   */
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
    // A visit may take longer than a turn, and Node warns about negative timeouts.
    const waitMs = Math.max(0, since + ahead * turnMs - performance.now());
    timer = ahead === 0 ? null : setTimeout(takeTurn, waitMs).unref();
  };
  const takeTurn = (): void => {
    move(ahead);
    // After the machine sleeps, do not catch up on missed turns.
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
