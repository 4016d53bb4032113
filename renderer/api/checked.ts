import type { z } from 'zod';

/** Checking yields after each slice, so that people can scroll and type. A slice is shorter than a frame. */
const sliceMs = 10;
/** Above this length, it also yields before and after checking, because parsing and rendering a long list take time too. */
const long = 250;

/** Parses the rows with the schema; returns null when a row is invalid. */
export async function checkedRows<T>(
  schema: z.ZodType<T>,
  rows: readonly unknown[],
): Promise<readonly T[] | null> {
  const checked: T[] = [];
  const isLong = rows.length > long;
  if (isLong) await nextTurn();
  let until = performance.now() + sliceMs;
  for (const row of rows) {
    const result = schema.safeParse(row);
    if (!result.success) return null;
    checked.push(result.data);
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + sliceMs;
  }
  if (isLong) await nextTurn();
  return checked;
}

/** A message is faster than a timer, which would wait 4 ms each time. */
const nextTurn = (): Promise<void> =>
  new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
