import { exitCodes, type Failure } from './failure.ts';

export type Choice<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure };

/** The identifiers by which a person may name an item. */
export interface Identity {
  readonly id: string;
  readonly name: string;
}

interface ChooseOptions<T> {
  readonly what: string;
  readonly identify: (item: T) => Identity;
  /** Plural of the noun, and the command that lists the items. */
  readonly list?: { readonly nouns: string; readonly command: string };
  /** Takes the first of several items with the same name, such as the newest of jobs. */
  readonly prefersFirst?: boolean;
}

const maxShown = 5;
/** In characters. A shorter id prefix is more likely a typo. */
const minPrefix = 4;

/**
 * Finds the one item with this id or name, or with a unique id prefix. Name prefixes never match: `delete rig-1` must not find `rig-10`
 * when `rig-1` is gone.
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
  const fits = (fit: (identity: Identity) => boolean) => items.filter(item => fit(identify(item)));
  const exact = fits(({ id, name }) => id === word || name === word);
  const found = exact.length > 0 || word.length < minPrefix ? exact : fits(({ id }) => id.startsWith(word));
  const [only] = found;
  const isName = exact.length > 0;
  if (only === undefined) {
    const message = `No ${what} "${word}". To list ${list.nouns}, run "${list.command}"`;
    return { ok: false, failure: { code: exitCodes.notFound, message } };
  }
  if (found.length === 1 || (prefersFirst && isName)) return { ok: true, value: only };
  const names = found.slice(0, maxShown).map(item => `${identify(item).name} (${identify(item).id})`);
  const more = found.length > maxShown ? ` and ${found.length - maxShown} more` : '';
  const message = `"${word}" is ambiguous: ${names.join(', ')}${more}. Give a longer id`;
  return { ok: false, failure: { code: exitCodes.usage, message } };
}
