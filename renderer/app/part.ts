/** A part of the panel that could not be loaded: the server is gone, or has another version by now. */
export class PartUnavailable extends Error {
  override readonly name = 'PartUnavailable';
}

/** A stopped server accepts connections and answers none. */
const loadWithinMs = 15_000;

/** Loads a part of the panel. Whatever goes wrong, and a load without an end, becomes `PartUnavailable`. */
export async function loadPart<T>(load: () => Promise<T>, withinMs = loadWithinMs): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new PartUnavailable('the server does not answer')), withinMs);
  });
  try {
    return await Promise.race([load(), late]);
  } catch (cause) {
    throw cause instanceof PartUnavailable ? cause : new PartUnavailable(String(cause), { cause });
  } finally {
    clearTimeout(timer);
  }
}

const key = 'trainyard.reloaded';
/** A reload that did not help is not repeated sooner. */
const againAfterMs = 30_000;

/** Whether the page may reload itself now: the browser keeps a failed part, and only a new page loads it. */
export function mayReload(storage: Pick<Storage, 'getItem' | 'setItem'>, now: number): boolean {
  const last = Number(storage.getItem(key) ?? 0);
  if (now - last < againAfterMs) return false;
  storage.setItem(key, String(now));
  return true;
}
