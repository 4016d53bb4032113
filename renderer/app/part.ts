/** A part of the panel failed to load: the server is unreachable, or runs another version now. */
export class PartUnavailable extends Error {
  override readonly name = 'PartUnavailable';
}

/** A suspended server accepts connections but does not answer. */
const loadWithinMs = 15_000;

/** Loads a part of the panel. Throws `PartUnavailable` on any error, or after `withinMs`. */
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
/** Minimum time between two automatic reloads, in case a reload does not help. */
const againAfterMs = 30_000;

/** Returns whether the page may reload itself now. Browsers cache a failed part, so only a reload fetches it again. */
export function mayReload(storage: Pick<Storage, 'getItem' | 'setItem'>, now: number): boolean {
  const last = Number(storage.getItem(key) ?? 0);
  if (now - last < againAfterMs) return false;
  storage.setItem(key, String(now));
  return true;
}
