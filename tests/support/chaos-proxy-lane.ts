/**
 * One direction of one exchange through a chaos proxy. It delivers data at its far end in order, depending on the
 * weather:
 *
 *   clear    delivers at once, or after the delay
 *   stalled  holds data and delivers it in order when the weather clears, as TCP does after a short partition
 *   black    loses data. The lane then loses all later data, too, in any weather: a connection that lost bytes
 *            never carries others, and only its ends can find that out
 */
export type Weather = 'clear' | 'stalled' | 'black';

export interface Lane {
  /** Accepts data at the near end and calls `deliver` when it reaches the far end. */
  carry(deliver: () => void): void;
  /** Loses all data from now on, permanently. */
  lose(): void;
  readonly lost: boolean;
}

/** The weather of all lanes of one direction. */
export interface Sky {
  lane(): Lane;
  turn(weather: Weather): void;
  /** Sets the delay of later data. Data in transit keeps its delay and its order. */
  delay(ms: number): void;
}

export function createSky(): Sky {
  const stalled = new Set<() => void>();
  let weather: Weather = 'clear';
  let delayMs = 0;

  function lane(): Lane {
    const waiting: (() => void)[] = [];
    let lost = false;
    let onItsWay = false;
    const pump = (): void => {
      while (!onItsWay) {
        if (weather === 'stalled' && waiting.length > 0) {
          stalled.add(pump);
          return;
        }
        const deliver = waiting.shift();
        if (deliver === undefined) return;
        if (delayMs === 0) deliver();
        else send(deliver);
      }
    };
    const send = (deliver: () => void): void => {
      onItsWay = true;
      setTimeout(() => {
        onItsWay = false;
        if (!lost) deliver();
        pump();
      }, delayMs);
    };
    const lose = (): void => {
      lost = true;
      waiting.length = 0;
    };
    return {
      carry(deliver) {
        if (weather === 'black') lose();
        if (lost) return;
        waiting.push(deliver);
        pump();
      },
      lose,
      get lost() {
        return lost;
      },
    };
  }

  return {
    lane,
    turn(next) {
      weather = next;
      if (next === 'stalled') return;
      const due = [...stalled];
      stalled.clear();
      for (const pump of due) pump();
    },
    delay(ms) {
      delayMs = ms;
    },
  };
}
