/** An entry of the palette that does something instead of opening a page. */
export interface ActionEntry {
  readonly id: string;
  /** The whole text, such as "Cancel job: flux-lora". */
  readonly text: string;
  /** The part of the text that names the action, such as "Cancel job". */
  readonly action: string;
  readonly onSelect: () => void;
}

const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '');

/**
 * Returns the entries that contain every word of the query, at most `max`. At least one word must be part of the action:
 * the name of a job alone lists the job, not all its actions.
 */
export function matchActions(
  entries: readonly ActionEntry[],
  query: string,
  max: number,
): readonly ActionEntry[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  const isMatch = ({ text, action }: ActionEntry): boolean => {
    const [whole, verb] = [text.toLowerCase(), action.toLowerCase()];
    return words.every(word => whole.includes(word)) && words.some(word => verb.includes(word));
  };
  return entries.filter(isMatch).slice(0, max);
}

/** Returns the words of the query that are part of no action. The palette searches for jobs and workers by these words. */
export function objectWords(query: string, actions: readonly string[]): string {
  const labels = actions.map(action => action.toLowerCase());
  return wordsOf(query)
    .filter(word => !labels.some(label => label.includes(word)))
    .join(' ');
}
