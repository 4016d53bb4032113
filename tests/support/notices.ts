/** The result of a check. Any value except null, undefined and false ends the wait. */
export type Found<T> = T | null | undefined | false;

/** Waits for a condition, with a timeout. The condition is checked after every notification. */
export interface Notices {
  /** Notifies that something has changed, so that every wait checks its condition again. */
  changed(): void;
  /** Resolves with the result of `look`, now or after a later notification. Rejects when it finds nothing before the timeout. */
  waitFor<T>(what: string, look: () => Found<T>, timeoutMs?: number): Promise<T>;
  /** Rejects all waits, because nothing will change any more. */
  end(cause: Error): void;
}

const patienceMs = 30_000;

export function createNotices(): Notices {
  const waiting = new Set<() => void>();
  let ended: Error | null = null;
  const changed = (): void => {
    for (const look of waiting) look();
  };
  return {
    changed,
    waitFor<T>(what: string, look: () => Found<T>, timeoutMs = patienceMs): Promise<T> {
      return new Promise((resolve, reject) => {
        const stop = (): void => {
          clearTimeout(timer);
          waiting.delete(again);
        };
        const fail = (cause: Error): void => {
          stop();
          reject(cause);
        };
        const again = (): void => {
          try {
            const found = look();
            if (found === null || found === undefined || found === false) {
              if (ended !== null) fail(new Error(`${what} never came: ${ended.message}`, { cause: ended }));
              return;
            }
            stop();
            resolve(found);
          } catch (cause) {
            fail(cause instanceof Error ? cause : new Error(String(cause)));
          }
        };
        const timer = setTimeout(
          () => fail(new Error(`${what} did not come within ${timeoutMs} ms`)),
          timeoutMs,
        );
        waiting.add(again);
        again();
      });
    },
    end(cause) {
      ended ??= cause;
      changed();
    },
  };
}

/** Waits for a change that has no notifications, such as the end of a process: checks it every 20 ms. */
export async function eventually<T>(what: string, look: () => Found<T>, timeoutMs = patienceMs): Promise<T> {
  const notices = createNotices();
  const timer = setInterval(notices.changed, 20);
  try {
    return await notices.waitFor(what, look, timeoutMs);
  } finally {
    clearInterval(timer);
  }
}
