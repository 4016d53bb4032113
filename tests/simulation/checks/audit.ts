import { bookOf, wholeTrail } from '../../support/seal.ts';
import type { Check } from '../world/scene.ts';

/** Checks invariant I5 (docs/internals/faults.md) at the end: the hash chain of the audit trail verifies. */
export const watchAudit: Check = scene => ({
  async atEnd() {
    const verdict = await bookOf(scene.disk.store.audit).verify(wholeTrail);
    if (!verdict.valid) scene.violate('I5 the audit chain verifies', JSON.stringify(verdict.first_bad));
  },
});
