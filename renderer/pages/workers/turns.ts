/** Does something for each, no more than `atOnce` of them at a time: a browser has six connections, and one is the stream's. */
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
