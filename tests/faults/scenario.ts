import type { FaultFleet } from './fault-fleet.ts';

/** A fault, and the conditions that must hold. The invariants are checked after each scenario too. */
export interface Scenario {
  /** Number of the fault in docs/internals/faults.md. Several scenarios may test the same fault. */
  readonly id: `F${number}`;
  /** The fault and the expected result, in one line. */
  readonly title: string;
  /** True when `npm run test:all` runs the scenario. Only a few scenarios that take seconds are quick. */
  readonly quick: boolean;
  /** Maximum duration; 60 s by default. */
  readonly limitMs?: number;
  /** Injects the fault. Throws when a condition does not hold. */
  readonly run: (fleet: FaultFleet) => Promise<void>;
}
