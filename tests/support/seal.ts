import { createSeal } from '../../main/audit/chain.ts';

/** The key of every trail in the tests. */
export const testSeal = createSeal(new Uint8Array(32).fill(7));
