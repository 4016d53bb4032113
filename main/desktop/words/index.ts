import { en, type Words } from './en.ts';
import { es } from './es.ts';
import { hi } from './hi.ts';
import { ja } from './ja.ts';
import { zh } from './zh.ts';
export type { Words };

const languages: ReadonlyMap<string, Words> = new Map(Object.entries({ en, es, zh, hi, ja }));

/** Returns the texts for the first of the user's system languages that the app supports. Tags look like `es-MX`. */
export function wordsFor(preferredLanguages: readonly string[]): Words {
  for (const tag of preferredLanguages) {
    const words = languages.get(tag.split('-', 1)[0]?.toLowerCase() ?? '');
    if (words !== undefined) return words;
  }
  return en;
}
