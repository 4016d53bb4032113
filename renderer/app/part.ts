/** Thrown when a part of the panel cannot be loaded: the server is unreachable, or now serves another version. */
export class PartUnavailable extends Error {
  override readonly name = 'PartUnavailable';
}

/** Time limit for loading. A suspended server accepts connections but does not answer. */
const loadWithinMs = 15_000;

/**
 * Loads a part of the panel that is not in the first page's code. Throws `PartUnavailable` on any error, and when
 * loading takes longer than `withinMs`.
 */
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
/** Minimum time between two automatic reloads, so that the page does not reload forever when a reload does not help. */
const againAfterMs = 30_000;

/**
 * Returns true when the page may reload itself now, and then stores `now` as the time of the reload. Only a reload
 * fetches a failed part again, because browsers cache the failure.
 */
export function mayReload(storage: Pick<Storage, 'getItem' | 'setItem'>, now: number): boolean {
  const last = Number(storage.getItem(key) ?? 0);
  if (now - last < againAfterMs) return false;
  storage.setItem(key, String(now));
  return true;
}
