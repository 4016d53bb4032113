/**
 * One direction of one exchange through a chaos proxy: what is to happen at its far end, in order, and what the
 * weather makes of it.
 *
 *   clear    at once, or after the delay
 *   stalled  kept, and done in order once it clears up: what TCP makes of a short partition
 *   black    lost. What comes later on the same lane is lost, too, in any weather: a connection that lost bytes never
 *            carries others, and only its ends can find that out
 */
export type Weather = 'clear' | 'stalled' | 'black';

export interface Lane {
  /** Something arrives at the near end; `deliver` lets it happen at the far one. */
  carry(deliver: () => void): void;
  /** Everything from here on vanishes, for good. */
  lose(): void;
  readonly lost: boolean;
}

/** The weather over all lanes of one direction. */
export interface Sky {
  lane(): Lane;
  turn(weather: Weather): void;
  /** How long everything takes from now on; what is on its way keeps its time and its place. */
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
