type Call = (...input: unknown[]) => unknown;

/** Returns an object with the same calls, each wrapped. */
export const wrapEach = <R extends object>(calls: R, wrap: (call: Call) => Call): R =>
  Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, wrap(call as Call)])) as unknown as R;
