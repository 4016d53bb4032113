interface PaceOptions {
  /** At least so much time lies between two of them, in milliseconds. */
  readonly everyMs: number;
  readonly now: () => number;
  /** Calls back after so many milliseconds; what it answers calls that off. */
  readonly after: (ms: number, then: () => void) => () => void;
  readonly act: () => void;
}

export interface Pace {
  /** Something has happened: it is acted upon now or as soon as it is time, and once more after that. */
  readonly note: () => void;
  readonly stop: () => void;
}

/** What is told of an event may come a little later than the event: so the last one is followed by one more act. */
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
