import type { WallMs } from '../model.ts';
import type { AuditFact, EventFact, StoredEvent } from '../events.ts';
import type { SealedMark } from './audit.ts';

/** Events for subscribers, and rows of the audit trail. */
export interface EventReads {
  /** Events after `seq`, oldest first. */
  eventsAfter(seq: number, limit: number): readonly StoredEvent[];
  /**
   * `first`: the oldest stored event, or the next number when none is stored. `last`: the newest event ever stored.
   * Both are 0 before the first event.
   */
  eventRange(): { readonly first: number; readonly last: number };
}

export interface EventWrites {
  appendEvent(fact: EventFact, at: WallMs): StoredEvent;
  appendAudit(fact: AuditFact): void;
  /** Removes every row up to the anchor, and stores the anchor in their place. */
  trimAudit(anchor: SealedMark): void;
}
