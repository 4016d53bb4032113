import type { VirtualClock } from '../../support/virtual-clock.ts';

/** A computer with clocks of its own, which drift, jump and (while it sleeps) stand still. */
export interface Machine {
  readonly name: string;
  /** CLOCK_MONOTONIC: stands still while the machine sleeps. */
  mono(): number;
  /** Whole milliseconds since 1970, as far as this machine knows. */
  wall(): number;
  after(ms: number, run: () => void): () => void;
  /** Its owner, or a time server, sets the wall clock. */
  setWall(byMs: number): void;
  sleep(): void;
  wake(): void;
}

/** `rate` is how fast its clocks run: 1.01 gains a second in a hundred. */
export function createMachine(world: VirtualClock, name: string, rate: number): Machine {
  const began = world.mono();
  const wallBegan = world.wall();
  let wallShift = 0;
  let sleptMs = 0;
  let asleepSince: number | null = null;
  const waking = new Set<() => void>();

  const passed = (): number => (world.mono() - began) * rate;
  const mono = (): number => {
    const asleep = asleepSince === null ? 0 : passed() - asleepSince;
    // Microseconds: finer steps would drown in the arithmetic, and a timer could fire a hair too early for ever.
    return 1_000_000 + Math.round((passed() - sleptMs - asleep) * 1000) / 1000;
  };

  return {
    name,
    mono,
    wall: () => Math.floor(wallBegan + passed() + wallShift),
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
