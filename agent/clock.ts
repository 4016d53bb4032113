/** Time as the agent needs it: a port, so that a fleet of agents can run on a clock that a test moves. */
export interface Clock {
  /** ms since some fixed moment; never goes back, whatever happens to the wall clock. */
  mono(): number;
  /** Runs it once, `ms` from now; the answer takes it back. */
  after(ms: number, run: () => void): () => void;
}

/** Longer delays overflow in Node and would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  mono: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(ms)), longestDelayMs));
    return () => clearTimeout(timer);
  },
};
