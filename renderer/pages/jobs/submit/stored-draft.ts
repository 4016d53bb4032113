import { draftPrefix } from '../../../api/session.ts';
import { type Draft, emptyDraft } from './draft.ts';

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Maximum size of a stored draft, because a browser stores only a few megabytes per site. */
const maxChars = 500_000;

const keyOf = (from: string | null): string => draftPrefix + (from ?? 'new');

/**
 * Stores the contents of the form for a reload. The caller passes a store that only this tab can read, because a config
 * may contain credentials for other services.
 */
export function keepDraft(store: Store, from: string | null, draft: Draft): void {
  const text = JSON.stringify(draft);
  try {
    if (text.length > maxChars) store.removeItem(keyOf(from));
    else store.setItem(keyOf(from), text);
  } catch {
    // Ignore a full store, because the form also works without a stored draft.
  }
}

export const forgetDraft = (store: Store, from: string | null): void => store.removeItem(keyOf(from));

/** Returns the stored contents of the form; null if there are none, or if another version stored different fields. */
export function keptDraft(store: Store, from: string | null): Draft | null {
  try {
    const stored: unknown = JSON.parse(store.getItem(keyOf(from)) ?? 'null');
    return isDraft(stored) ? { ...emptyDraft, ...stored } : null;
  } catch {
    return null;
  }
}

/** Checks the types of all fields, because another version of the panel may have stored different fields. */
const isDraft = (stored: unknown): stored is Draft =>
  typeof stored === 'object' &&
  stored !== null &&
  Object.entries(emptyDraft).every(([key, value]: readonly [string, unknown]) => {
    const storedValue: unknown = Object.entries(stored).find(([name]) => name === key)?.[1];
    return (
      value === null ||
      (typeof storedValue === typeof value && Array.isArray(storedValue) === Array.isArray(value))
    );
  });
