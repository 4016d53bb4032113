import { draftPrefix } from '../../../api/session.ts';
import { type Draft, emptyDraft } from './draft.ts';

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Larger drafts are not kept, because a browser stores only a few megabytes for a site. */
const maxChars = 500_000;

const keyOf = (from: string | null): string => draftPrefix + (from ?? 'new');

/**
 * Keeps the contents of the form for a reload. They stay in this tab only, because a config may contain credentials of other
 * services.
 */
export function keepDraft(store: Store, from: string | null, draft: Draft): void {
  const text = JSON.stringify(draft);
  try {
    if (text.length > maxChars) store.removeItem(keyOf(from));
    else store.setItem(keyOf(from), text);
  } catch {
    // The browser allows no more data. The form works without it.
  }
}

export const forgetDraft = (store: Store, from: string | null): void => store.removeItem(keyOf(from));

/** Returns the contents of the form before a reload; null if there are none. */
export function keptDraft(store: Store, from: string | null): Draft | null {
  try {
    const stored: unknown = JSON.parse(store.getItem(keyOf(from)) ?? 'null');
    return isDraft(stored) ? { ...emptyDraft, ...stored } : null;
  } catch {
    return null;
  }
}

/** Other versions of the panel may have stored other fields. */
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
