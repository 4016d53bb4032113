/** Distinguishes texts from the panel's catalog from data of the server. */
import type { Page } from '@playwright/test';

export interface AnswerRecord {
  /** Returns the texts that are neither from the catalog nor from the server. */
  untranslated(texts: readonly string[]): Promise<readonly string[]>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Records the texts and field names in all answers to the page, and texts that the panel builds from them. */
export function recordAnswers(page: Page): AnswerRecord {
  const words = new Set<string>();
  const reads: Promise<void>[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') words.add(value.trim());
    if (typeof value !== 'object' || value === null) return;
    const fields = value as Fields;
    for (const text of compounds(fields)) words.add(text);
    for (const [key, part] of Object.entries(fields)) {
      words.add(key);
      collect(part);
    }
  };
  page.on('response', response => {
    const type = response.headers()['content-type'] ?? '';
    if (!type.includes('json')) return;
    // Ignore answers that the browser discards when the page is left.
    reads.push(response.json().then(collect, () => undefined));
  });
  return {
    async untranslated(texts) {
      await Promise.all(reads);
      const isKnown = (text: string): boolean =>
        !hasLetters(text) ||
        isPseudo(text) ||
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

/** Matches numbers with units and days, as `Intl` formats them: "2h 29m", "1.09", "97.2%", "1.2E-5", "Nov 26". */
const isFigure = (text: string): boolean =>
  /^(?:[\d.,:/×%+–-]+\s?[a-z]{0,3}\s?)+$/i.test(text) || /^[A-Z][a-z]{2} \d{1,2}$/.test(text);
/** Matches event types and addresses, which are not translated. */
const isName = (text: string): boolean => /^[a-z]+\.\*$|^https?:\/\/\S+$/.test(text);
const hasLetters = (text: string): boolean => /\p{L}/u.test(text);
/**
 * Matches texts of the pseudo-language, which are in brackets. The list of notifications appends its keyboard shortcut.
 * Links split sentences into parts without brackets, in which each vowel has an accent.
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
]);
