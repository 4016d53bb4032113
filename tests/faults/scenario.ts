import type { Bench } from './bench.ts';

/** One fault and what must hold in it, besides the invariants that are checked after every scenario. */
export interface Scenario {
  /** The number in the catalogue of faults: several scenarios may share one. */
  readonly id: `F${number}`;
  /** What is done to the system, and what must hold, in a line. */
  readonly title: string;
  /** Belongs to every test run: few, and each of a few seconds. */
  readonly quick: boolean;
  /** The longest that it may take in all; 60 s unless told. */
  readonly limitMs?: number;
  /** Throws when something does not hold. */
  readonly run: (bench: Bench) => Promise<void>;
}
