interface PaceOptions {
  /** Minimum time between two actions, in milliseconds. */
  readonly everyMs: number;
  readonly now: () => number;
  /** Runs a function after a delay in milliseconds; the returned function cancels it. */
  readonly after: (ms: number, then: () => void) => () => void;
  readonly act: () => void;
}

export interface Pace {
  /** Reports a change: the action runs as soon as the interval allows, and once more later. */
  readonly note: () => void;
  readonly stop: () => void;
}

/** Limits how often an action runs. Data may arrive slightly after its event, so each burst ends with one extra run. */
export function createPace({ everyMs, now, after, act }: PaceOptions): Pace {
  let last = Number.NEGATIVE_INFINITY;
  let owed = 0;
  let cancel: (() => void) | null = null;
  const go = (): void => {
    if (owed === 0 || cancel !== null) return;
    cancel = after(Math.max(0, last + everyMs - now()), () => {
      cancel = null;
      owed -= 1;
      last = now();
      act();
      go();
    });
  };
  return {
    note() {
      owed = 2;
      go();
    },
    stop() {
      owed = 0;
      cancel?.();
      cancel = null;
    },
  };
}
