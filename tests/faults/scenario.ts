import type { FaultFleet } from './fault-fleet.ts';

/** A fault with the conditions that must hold. After each scenario, the invariants are checked too. */
export interface Scenario {
  /** Number of the fault in the catalogue. Several scenarios may have the same one. */
  readonly id: `F${number}`;
  /** The fault and the expected result, in one line. */
  readonly title: string;
  /** True when `npm run test:all` runs it. There are few such scenarios, each of a few seconds. */
  readonly quick: boolean;
  /** Maximum duration; 60 s by default. */
  readonly limitMs?: number;
  /** Injects the fault. Throws when a condition does not hold. */
  readonly run: (fleet: FaultFleet) => Promise<void>;
}
