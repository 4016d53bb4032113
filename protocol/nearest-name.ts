import { distance } from 'fastest-levenshtein';

/** Number of characters to compare. The cost of a comparison grows with the product of both lengths. */
const comparedChars = 60;

/**
 * Returns the name that the user probably meant; null when no name is similar. A name is similar if it starts with
 * `word`. It is also similar if at most a third of its letters, or a single letter, must be changed to get `word`.
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
