import { distance } from 'fastest-levenshtein';

/** The number of characters to compare. The cost of a comparison is the product of both lengths. */
const comparedChars = 60;

/**
 * Returns the name that was probably meant: it starts with the word, or differs from it in at most a third of its letters.
 * Returns null when no name is similar.
 */
export function nearestName(word: string, names: Iterable<string>): string | null {
  const typed = word.slice(0, comparedChars).toLowerCase();
  let nearest: { readonly name: string; readonly edits: number } | null = null;
  for (const name of names) {
    const edits = distance(typed, name.slice(0, comparedChars).toLowerCase());
    const isSimilar = edits <= Math.max(1, Math.floor(name.length / 3)) || name.startsWith(word);
    if (isSimilar && (nearest === null || edits < nearest.edits)) nearest = { name, edits };
  }
  return nearest === null ? null : nearest.name;
}
