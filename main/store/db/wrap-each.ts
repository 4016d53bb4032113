type Call = (...input: unknown[]) => unknown;

/** Returns an object with the same calls, each wrapped. */
export const wrapEach = <R extends object>(calls: R, wrap: (call: Call, name: string) => Call): R =>
  Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [name, wrap(call as Call, name)]),
  ) as unknown as R;
