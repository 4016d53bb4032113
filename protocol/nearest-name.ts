import { distance } from 'fastest-levenshtein';

/** The number of characters to compare. The cost of a comparison is the product of both lengths. */
const comparedChars = 60;

/**
 * Returns the name that was probably meant: it starts with the word, or differs from it in at most a third of its letters.
 * Returns null when no name is similar.
 */
export function nearestName(word: string, names: Iterable<string>): string | null {
  const typed = word.slice(0, comparedChars).toLowerCase();
  let nearest: { readonly name: string; readonly away: number } | null = null;
  for (const name of names) {
    const away = distance(typed, name.slice(0, comparedChars).toLowerCase());
    const resembles = away <= Math.max(1, Math.floor(name.length / 3)) || name.startsWith(word);
    if (resembles && (nearest === null || away < nearest.away)) nearest = { name, away };
  }
  return nearest === null ? null : nearest.name;
}
