import { distance } from 'fastest-levenshtein';

/** Names that are longer are compared by how they begin: a comparison costs the product of both lengths. */
const comparedChars = 60;

/**
 * The name that somebody probably meant: one that begins with the word, or that differs from it in at most a third of its letters.
 * Null when no name resembles it.
 */
export function nearestName(word: string, names: Iterable<string>): string | null {
  const said = word.slice(0, comparedChars).toLowerCase();
  let nearest: { readonly name: string; readonly away: number } | null = null;
  for (const name of names) {
    const away = distance(said, name.slice(0, comparedChars).toLowerCase());
    const resembles = away <= Math.max(1, Math.floor(name.length / 3)) || name.startsWith(word);
    if (resembles && (nearest === null || away < nearest.away)) nearest = { name, away };
  }
  return nearest === null ? null : nearest.name;
}
