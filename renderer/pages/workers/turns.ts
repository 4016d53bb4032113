/** Runs an action for each item, at most `atOnce` at a time. A browser has six connections, and the stream uses one. */
export async function inTurns<T>(
  things: readonly T[],
  atOnce: number,
  act: (thing: T) => Promise<void>,
): Promise<void> {
  const left = [...things];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await act(next);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
