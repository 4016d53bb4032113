import type { Bench } from './bench.ts';

/** One fault and its conditions, in addition to the invariants that are checked after every scenario. */
export interface Scenario {
  /** The number in the catalogue of faults. Several scenarios may share one. */
  readonly id: `F${number}`;
  /** The fault and the expected result in one line. */
  readonly title: string;
  /** Whether it is part of every test run. There are few of these, and each takes a few seconds. */
  readonly quick: boolean;
  /** The time limit; 60 s by default. */
  readonly limitMs?: number;
  /** Throws when a condition does not hold. */
  readonly run: (bench: Bench) => Promise<void>;
}
