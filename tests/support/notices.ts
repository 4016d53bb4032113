/** The result of a check. Any value except null, undefined and false ends the wait. */
export type Found<T> = T | null | undefined | false;

/** Waits for a condition, with a timeout. The condition is checked after every notification. */
export interface Notices {
  /** Notifies that something has changed, so that every wait checks its condition again. */
  changed(): void;
  /** Resolves with the first result of `check`, now or after a later notification. Rejects when there is none before the timeout. */
  waitFor<T>(what: string, check: () => Found<T>, timeoutMs?: number): Promise<T>;
  /** Rejects all waits, because nothing will change any more. */
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

/** Waits for a change that has no notifications, such as the end of a process: checks it every 20 ms. */
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
