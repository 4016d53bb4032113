/** The result of a check. Any value except null, undefined and false ends the wait. */
export type Found<T> = T | null | undefined | false;

/** Lets tests wait for a condition, which is checked after each notification. */
export interface Notices {
  /** Makes every wait check its condition again. */
  changed(): void;
  /**
   * Resolves with the first result of `check`, now or after a later notification. Rejects after the timeout, 30 s by default, or
   * when `check` throws.
   */
  waitFor<T>(what: string, check: () => Found<T>, timeoutMs?: number): Promise<T>;
  /** Rejects all current and later waits whose condition does not hold, because nothing will change any more. */
  end(cause: Error): void;
}

const defaultTimeoutMs = 30_000;

export function createNotices(): Notices {
  const waiting = new Set<() => void>();
  let ended: Error | null = null;
  const changed = (): void => {
    for (const check of waiting) check();
  };
  return {
    changed,
    waitFor<T>(what: string, check: () => Found<T>, timeoutMs = defaultTimeoutMs): Promise<T> {
      return new Promise((resolve, reject) => {
        const stop = (): void => {
          clearTimeout(timer);
          waiting.delete(recheck);
        };
        const fail = (cause: Error): void => {
          stop();
          reject(cause);
        };
        const recheck = (): void => {
          try {
            const result = check();
            if (result === null || result === undefined || result === false) {
              if (ended !== null) fail(new Error(`waiting for ${what}: ${ended.message}`, { cause: ended }));
              return;
            }
            stop();
            resolve(result);
          } catch (cause) {
            fail(cause instanceof Error ? cause : new Error(String(cause)));
          }
        };
        const timer = setTimeout(
          () => fail(new Error(`waiting for ${what}: timeout after ${timeoutMs} ms`)),
          timeoutMs,
        );
        waiting.add(recheck);
        recheck();
      });
    },
    end(cause) {
      ended ??= cause;
      changed();
    },
  };
}

/**
 * Waits for a change without notifications, such as the end of a process. Runs `check` every 20 ms, and rejects after the
 * timeout.
 */
export async function eventually<T>(
  what: string,
  check: () => Found<T>,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const notices = createNotices();
  const timer = setInterval(notices.changed, 20);
  try {
    return await notices.waitFor(what, check, timeoutMs);
  } finally {
    clearInterval(timer);
  }
}
