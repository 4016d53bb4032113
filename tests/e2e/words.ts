/** Decides which texts of a page come from the panel, and which from the server. */
import type { Page } from '@playwright/test';

export interface Listener {
  /** The texts that come neither from the catalogue nor from the server. */
  untranslated(texts: readonly string[]): Promise<readonly string[]>;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Records every answer that the page receives: its texts, its field names, and the texts that the panel combines from
 * them.
 */
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
    // Leaving a page discards its unread answers.
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
  // The panel shows all labels as one text.
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
/** Event types and addresses are the same in every language. */
const isName = (text: string): boolean => /^[a-z]+\.\*$|^https?:\/\/\S+$/.test(text);
const hasLetters = (text: string): boolean => /\p{L}/u.test(text);
/**
 * The pseudo-locale marks every text of the catalogue like this. The list of notifications adds its keyboard shortcut.
 */
const isMarked = (text: string): boolean => /^\[[\s\S]*\](?: alt\+T)?$/.test(text);

/** Placeholders of empty fields, and the texts that the tests enter. */
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
