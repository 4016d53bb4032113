/** Which texts of a page are the panel's own, and which are what the server has told it. */
import type { Page } from '@playwright/test';

export interface Listener {
  /** Those that neither the catalogue nor the server has. */
  untranslated(texts: readonly string[]): Promise<readonly string[]>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Hears every answer that the page is given: its texts, the names of its fields, and what the panel makes of two of them. */
export function listenTo(page: Page): Listener {
  const words = new Set<string>();
  const reading: Promise<void>[] = [];
  const take = (value: unknown): void => {
    if (typeof value === 'string') words.add(value.trim());
    if (typeof value !== 'object' || value === null) return;
    const fields = value as Fields;
    for (const text of compounds(fields)) words.add(text);
    for (const [key, part] of Object.entries(fields)) {
      words.add(key);
      take(part);
    }
  };
  page.on('response', response => {
    const type = response.headers()['content-type'] ?? '';
    if (!type.includes('json')) return;
    // A page that is left takes its answers along.
    reading.push(response.json().then(take, () => undefined));
  });
  return {
    async untranslated(texts) {
      await Promise.all(reading);
      const isKnown = (text: string): boolean =>
        !hasLetters(text) ||
        isMarked(text) ||
        isFigure(text) ||
        isName(text) ||
        examples.has(text) ||
        words.has(text);
      return texts.filter(text => !isKnown(text) && !text.split(' · ').every(isKnown));
    },
  };
}

function compounds(fields: Fields): readonly string[] {
  const text = (name: string): string => String(fields[name]);
  const found = Object.entries(fields).map(([key, part]) => `${key}=${String(part)}`);
  // Labels as they are shown in one piece.
  if (Object.values(fields).every(part => typeof part === 'string')) found.push(found.join('\n'));
  if ('config_name' in fields) found.push(`${text('config_name')} (${text('id')})`);
  if ('event_type' in fields) {
    found.push(`${text('event_type')} ${text('target_id')}`);
    found.push(`${text('actor_id')} (${text('address')})`, `${text('actor_type')} (${text('address')})`);
  }
  if (Array.isArray(fields['reasons']))
    found.push((fields['reasons'] as readonly Fields[]).map(({ detail }) => String(detail)).join('; '));
  return found;
}

/** Numbers with their units, as `Intl` writes them: "2h 29m", "1.09", "97.2%", "1.2E-5". */
const isFigure = (text: string): boolean => /^(?:[\d.,:/×%+–-]+\s?[a-z]{0,3}\s?)+$/i.test(text);
/** Kinds of events are called the same in every language, and so are addresses. */
const isName = (text: string): boolean => /^[a-z]+\.\*$|^https?:\/\/\S+$/.test(text);
const hasLetters = (text: string): boolean => /\p{L}/u.test(text);
/** As the pseudo-locale marks what comes out of the catalogue. Behind the name of all notes stands the key that leads there. */
const isMarked = (text: string): boolean => /^\[[\s\S]*\](?: alt\+T)?$/.test(text);

/** What stands in empty fields, and what the tests themselves write. */
const examples: ReadonlySet<string> = new Set([
  'rig-3',
  'https://yard.example.org',
  'team=nlp',
  'job.failed',
  'j_...',
  'rig-9',
  'inline',
  'admin',
  'nightly',
]);
