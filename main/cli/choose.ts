import { exitCodes, type Failure } from './failure.ts';

export type Choice<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure };

/** The two identifiers of an item that a user can type. */
export interface Identity {
  readonly id: string;
  readonly name: string;
}

interface ChooseOptions<T> {
  /** Noun for one item in messages, such as "job". */
  readonly what: string;
  readonly identify: (item: T) => Identity;
  /** Plural of the noun, and the command that lists the items, for messages. By default derived from `what`. */
  readonly list?: { readonly nouns: string; readonly command: string };
  /** If several items have the same name, selects the first. The caller sorts them, for example jobs from newest to oldest. */
  readonly prefersFirst?: boolean;
}

/** Maximum number of matches that the message about an ambiguous word names. */
const maxShown = 5;
/** Minimum length of an id prefix in characters. A shorter word is more likely a typo. */
const minPrefix = 4;

/**
 * Finds the one item with this id or name, or with a unique prefix of the id. A prefix of a name never matches: `delete rig-1`
 * must not delete `rig-10` after `rig-1` has been deleted.
 */
export function choose<T>(
  word: string,
  items: readonly T[],
  {
    what,
    identify,
    list = { nouns: `${what}s`, command: `trainyard ${what}s list` },
    prefersFirst = false,
  }: ChooseOptions<T>,
): Choice<T> {
  const findBy = (isMatch: (identity: Identity) => boolean) => items.filter(item => isMatch(identify(item)));
  const exact = findBy(({ id, name }) => id === word || name === word);
  const matches =
    exact.length > 0 || word.length < minPrefix ? exact : findBy(({ id }) => id.startsWith(word));
  const [only] = matches;
  const isExact = exact.length > 0;
  if (only === undefined) {
    const message = `No ${what} "${word}". To list ${list.nouns}, run "${list.command}"`;
    return { ok: false, failure: { code: exitCodes.notFound, message } };
  }
  if (matches.length === 1 || (prefersFirst && isExact)) return { ok: true, value: only };
  const names = matches.slice(0, maxShown).map(item => `${identify(item).name} (${identify(item).id})`);
  const more = matches.length > maxShown ? ` and ${matches.length - maxShown} more` : '';
  const message = `"${word}" is ambiguous: ${names.join(', ')}${more}. Give a longer id`;
  return { ok: false, failure: { code: exitCodes.usage, message } };
}
