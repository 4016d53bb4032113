type Call = (...input: unknown[]) => unknown;

/** The same calls by the same names, each of them wrapped. */
export const wrapEach = <R extends object>(calls: R, wrap: (call: Call, name: string) => Call): R =>
  Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [name, wrap(call as Call, name)]),
  ) as unknown as R;
