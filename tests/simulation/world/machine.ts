import type { VirtualClock } from '../../support/virtual-clock.ts';

/** A computer with its own clocks, which can drift, jump, and stop while it sleeps. */
export interface Machine {
  readonly name: string;
  /** CLOCK_MONOTONIC in ms, which stops while the machine sleeps. */
  mono(): number;
  /** Whole milliseconds since 1970, by this machine's clock. */
  wall(): number;
  after(ms: number, run: () => void): () => void;
  /** Moves the wall clock by this many ms, as its owner or a time server does. */
  setWall(byMs: number): void;
  sleep(): void;
  wake(): void;
}

/** Creates a machine. `rate`: speed of its clocks; with 1.01, they gain one second in a hundred. */
export function createMachine(world: VirtualClock, name: string, rate: number): Machine {
  const startedAt = world.mono();
  const wallAtStart = world.wall();
  let wallShift = 0;
  let sleptMs = 0;
  let asleepSince: number | null = null;
  const waking = new Set<() => void>();

  const passed = (): number => (world.mono() - startedAt) * rate;
  const mono = (): number => {
    const asleep = asleepSince === null ? 0 : passed() - asleepSince;
    // Round to microseconds. Otherwise, floating-point errors could make a timer fire slightly too early again and again.
    return 1_000_000 + Math.round((passed() - sleptMs - asleep) * 1000) / 1000;
  };

  return {
    name,
    mono,
    wall: () => Math.floor(wallAtStart + passed() + wallShift),
    after(ms, run) {
      const due = mono() + Math.max(0, ms);
      let cancel = (): void => {};
      const fire = (): void => {
        if (asleepSince !== null) waking.add(arm);
        else if (mono() < due) arm();
        else run();
      };
      const arm = (): void => {
        cancel = world.after((due - mono() + 0.001) / rate, fire);
      };
      arm();
      return () => {
        cancel();
        waking.delete(arm);
      };
    },
    setWall(byMs) {
      wallShift += byMs;
    },
    sleep() {
      asleepSince ??= passed();
    },
    wake() {
      if (asleepSince === null) return;
      sleptMs += passed() - asleepSince;
      asleepSince = null;
      const due = [...waking];
      waking.clear();
      for (const arm of due) arm();
    },
  };
}
