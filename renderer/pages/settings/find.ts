import type { Entry } from './entries.ts';
import type { SettingsTranslator } from './texts.tsx';
import type { Topic } from './topics.ts';

/** A setting that matches the search. */
export interface FoundSetting {
  readonly label: string;
  /** Title of the topic. */
  readonly topic: string;
  /** The matching text; null if the label or the topic matches. */
  readonly text: string | null;
  /** URL path of the setting. */
  readonly href: string;
}

/** @internal */
export const maxFound = 8;

/**
 * Returns settings whose label, topic, description and options together contain every word of the query. The best
 * matches come first.
 */
export function findSettings(
  topics: readonly Pick<Topic, 'name' | 'title' | 'entries'>[],
  query: string,
  t: SettingsTranslator,
): readonly FoundSetting[] {
  const words = fold(query).split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const matches = topics.flatMap(({ name, title, entries }) =>
    entries.flatMap(entry => match(entry, { name, title: t(title) }, words, t)),
  );
  return matches.toSorted((a, b) => a.rank - b.rank).slice(0, maxFound);
}

interface TopicTitle {
  readonly name: string;
  readonly title: string;
}

/** A match with its rank. The lowest rank is the best match. */
type Ranked = FoundSetting & { readonly rank: number };

function match(
  { id, label: key, texts = [], words: names = [] }: Entry,
  { name, title }: TopicTitle,
  words: readonly string[],
  t: SettingsTranslator,
): readonly Ranked[] {
  const label = t(key);
  const details = [...texts.map(each => t(each)), ...names];
  const whole = [label, title, ...details].map(fold).join('\n');
  if (!words.every(word => whole.includes(word))) return [];
  const isIn = (text: string): boolean => words.every(word => fold(text).includes(word));
  const setting = { label, topic: title, href: `/settings/${name}#${id}` };
  if (isIn(label)) {
    const startsLabel = fold(label).startsWith(words[0] ?? '');
    return [{ ...setting, text: null, rank: startsLabel ? 0 : 1 }];
  }
  if (isIn(title)) return [{ ...setting, text: null, rank: 3 }];
  const text = details.find(each => words.some(word => fold(each).includes(word))) ?? null;
  return [{ ...setting, text, rank: 2 }];
}

/** Removes case and the accents of Latin letters, for comparisons that ignore them. */
const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036F]/g, '')
    .toLowerCase();
