/**
 * A lane is one direction of one exchange through a chaos proxy. It delivers data in order, depending on the state of the
 * network:
 *
 *   open       delivers immediately, or after the delay
 *   stalled    queues data, and delivers it when the state is open again, as TCP does after a short partition
 *   blackhole  loses data. The lane then loses all later data, too, in any state, because a TCP connection that has lost
 *              bytes cannot deliver later ones
 */
export type NetworkState = 'open' | 'stalled' | 'blackhole';

export interface Lane {
  /** Accepts data at the near end and calls `deliver` when it reaches the far end. */
  transmit(deliver: () => void): void;
  /** Loses all data from now on, permanently. */
  lose(): void;
  readonly lost: boolean;
}

/** All lanes of one direction. They share one network state. */
export interface LaneGroup {
  lane(): Lane;
  setState(state: NetworkState): void;
  /** Sets the delay of later data. Data in transit keeps its delay and its order. */
  delay(ms: number): void;
}

export function createLaneGroup(): LaneGroup {
  const stalled = new Set<() => void>();
  let state: NetworkState = 'open';
  let delayMs = 0;

  function lane(): Lane {
    const waiting: (() => void)[] = [];
    let lost = false;
    let isInTransit = false;
    const deliverNext = (): void => {
      while (!isInTransit) {
        if (state === 'stalled' && waiting.length > 0) {
          stalled.add(deliverNext);
          return;
        }
        const deliver = waiting.shift();
        if (deliver === undefined) return;
        if (delayMs === 0) deliver();
        else send(deliver);
      }
    };
    const send = (deliver: () => void): void => {
      isInTransit = true;
      setTimeout(() => {
        isInTransit = false;
        if (!lost) deliver();
        deliverNext();
      }, delayMs);
    };
    const lose = (): void => {
      lost = true;
      waiting.length = 0;
    };
    return {
      transmit(deliver) {
        if (state === 'blackhole') lose();
        if (lost) return;
        waiting.push(deliver);
        deliverNext();
      },
      lose,
      get lost() {
        return lost;
      },
    };
  }

  return {
    lane,
    setState(next) {
      state = next;
      if (next === 'stalled') return;
      const resumable = [...stalled];
      stalled.clear();
      for (const deliverNext of resumable) deliverNext();
    },
    delay(ms) {
      delayMs = ms;
    },
  };
}
