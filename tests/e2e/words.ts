/** Finds texts of the panel that are not in its catalog of translations. */
import type { Page } from '@playwright/test';

export interface ServerTexts {
  /** Returns the texts that are neither from the catalog nor from the server. */
  untranslated(texts: readonly string[]): Promise<readonly string[]>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Records the texts and field names in all responses to the page, and the texts that the panel composes from them. */
export function recordServerTexts(page: Page): ServerTexts {
  const serverTexts = new Set<string>();
  /** Error messages and keys of files. The panel shows parts of them. */
  const longTexts = new Set<string>();
  const reads: Promise<void>[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') serverTexts.add(value.trim());
    if (typeof value !== 'object' || value === null) return;
    const fields = value as Fields;
    for (const text of composeTexts(fields)) serverTexts.add(text);
    for (const [name, fieldValue] of Object.entries(fields)) {
      serverTexts.add(name);
      if (longFields.has(name) && typeof fieldValue === 'string') longTexts.add(fieldValue);
      collect(fieldValue);
    }
  };
  page.on('response', response => {
    const type = response.headers()['content-type'] ?? '';
    if (!type.includes('json')) return;
    // Reading a response fails after a navigation, because the browser has discarded the response.
    reads.push(response.json().then(collect, () => undefined));
  });
  return {
    async untranslated(texts) {
      await Promise.all(reads);
      const isKnown = (text: string): boolean => {
        // The panel appends a number to a key, and shortens long texts.
        const bare = text.replace(/ × \d+$|…$/, '');
        return (
          !hasLetters(text) ||
          isPseudo(text) ||
          isFigure(text) ||
          isName(text) ||
          examples.has(bare) ||
          serverTexts.has(text) ||
          longTexts.values().some(long => long.includes(bare))
        );
      };
      // The panel joins several texts with a dot or a comma.
      return texts.filter(text => !isKnown(text) && !text.split(/ · |, /).every(isKnown));
    },
  };
}

const longFields: ReadonlySet<string> = new Set(['error_message', 'key']);

/** Returns the texts that the panel composes from the fields of an object. */
function composeTexts(fields: Fields): readonly string[] {
  const fieldOf = (name: string): string => String(fields[name]);
  const texts = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
  // The panel shows all labels of a worker as one text.
  if (Object.values(fields).every(value => typeof value === 'string')) texts.push(texts.join('\n'));
  if ('config_name' in fields) texts.push(`${fieldOf('config_name')} (${fieldOf('id')})`);
  if ('event_type' in fields) {
    const address = fieldOf('address');
    texts.push(`${fieldOf('event_type')} ${fieldOf('target_id')}`);
    texts.push(`${fieldOf('actor_id')} (${address})`, `${fieldOf('actor_type')} (${address})`);
  }
  if (Array.isArray(fields['reasons']))
    texts.push((fields['reasons'] as readonly Fields[]).map(({ detail }) => String(detail)).join('; '));
  return texts;
}

/** Matches numbers with units and days, as `Intl` formats them: "2h 29m", "1.09", "97.2%", "1.2E-5", "Nov 26". */
const isFigure = (text: string): boolean =>
  /^(?:[\d.,:/×%+–-]+\s?[a-z]{0,3}\s?)+$/i.test(text) || /^[A-Z][a-z]{2} \d{1,2}$/.test(text);
/** Matches event types and addresses, which are not translated. */
const isName = (text: string): boolean => /^[a-z]+\.\*$|^https?:\/\/\S+$/.test(text);
const hasLetters = (text: string): boolean => /\p{L}/u.test(text);
/**
 * Matches texts of the pseudo-language, which are in brackets. The list of notifications appends its keyboard shortcut. Parts of
 * a sentence around a link have no brackets, but each of their vowels has an accent.
 */
const isPseudo = (text: string): boolean =>
  /^\[[\s\S]*\](?: alt\+T)?$/.test(text) || (/[áéíóúý]/i.test(text) && !/[aeiouy]/i.test(text));

/** Placeholders of input fields, and texts that the tests type. */
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
  'lr',
  'optimizer',
  'steps',
  'train_batch_size',
]);
