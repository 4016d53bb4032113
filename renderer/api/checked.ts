import type { z } from 'zod';

/** Between two slices people can scroll and type; a slice is less than a frame. */
const sliceMs = 10;
/** Before and after a long list, too: it was just read, and will be shown. Either takes its time. */
const long = 250;

/** The rows as the schema reads them; null when one of them is something else. */
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

/** A timer would wait for 4 ms each time. */
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
