/** Tests that each language has the keys and placeholders of English, and that every text can be formatted. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import { describe, expect, test } from 'vitest';
import { withPageTexts } from '../../../../../renderer/i18n/page-texts.ts';
import { loadTexts } from '../../../../support/texts.ts';

const root = fileURLToPath(new URL('../../../../../renderer/', import.meta.url));
type Catalog = Readonly<Record<string, string>>;

const modules = import.meta.glob<Readonly<Record<string, Catalog>>>('../../../../../renderer/i18n/*/*.ts', {
  eager: true,
});

/** Returns all texts of a language, including texts that load with their page. */
function catalogOf(language: string): Catalog {
  const parts = Object.entries(modules).filter(([path]) => path.includes(`/i18n/${language}/`));
  return Object.fromEntries(parts.flatMap(([, part]) => Object.values(part).flatMap(Object.entries<string>)));
}

const catalogs = {
  en: catalogOf('en'),
  es: catalogOf('es'),
  zh: catalogOf('zh'),
  hi: catalogOf('hi'),
  ja: catalogOf('ja'),
} as const;
const { en } = catalogs;
const keys = Object.keys(en);

/** Returns the names of the placeholders in a text and in its plural forms. */
function namesIn(text: string): readonly string[] {
  const names = new Set<string>();
  const walk = (part: unknown): void => {
    if (!Array.isArray(part)) return;
    for (const token of part as readonly unknown[]) {
      if (!Array.isArray(token)) continue;
      const [name, , cases] = token as readonly unknown[];
      if (typeof name === 'string') names.add(name);
      if (typeof cases === 'object' && cases !== null)
        for (const variant of Object.values(cases)) walk(variant);
    }
  };
  walk(compileMessage(text));
  return [...names].toSorted();
}

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(file => /\.tsx?$/.test(file) && !file.startsWith('i18n/'))
  .map(file => readFileSync(join(root, file), 'utf8'))
  .join('\n');

/** Returns true when the sources use the key, literally or through a template whose fixed parts match. */
function isUsed(key: string): boolean {
  const isWrittenOut = [`'${key}'`, `"${key}"`].some(quoted => sources.includes(quoted));
  return isWrittenOut || templates.some(template => template.test(key));
}
const templates = [...sources.matchAll(/`((?:[\w.]|\$\{[^}`]*\})+)`/g)]
  .map(([, text = '']) => text.split(/\$\{[^}]*\}/))
  // Skip templates without three fixed letters in a row, because they would match any key.
  .filter(parts => parts.some(part => /[a-z]{3}/i.test(part)))
  .map(parts => new RegExp(`^${parts.map(RegExp.escape).join('.+')}$`));

const textIn = (language: keyof typeof catalogs, key: string): string => catalogs[language][key] ?? '';

test('finds each English message key in the sources of the panel', () => {
  expect(keys.filter(key => !isUsed(key))).toEqual([]);
});

/** Calls `t('key', { … })` in the sources, except calls that spread another object into the values. */
const literalCalls = [...sources.matchAll(/\bt\(\s*'([\w.]+)',\s*\{([^{}]*)\}\s*,?\s*\)/g)]
  .map(([, key = '', values = '']) => ({ key, values: withoutArguments(values) }))
  .filter(({ values }) => !values.includes('...'));

/** Removes parentheses and their content, because commas within parentheses do not separate values. */
function withoutArguments(values: string): string {
  const shorter = values.replaceAll(/\([^()]*\)/g, '');
  return shorter === values ? values : withoutArguments(shorter);
}

test('finds a value for every placeholder in each literal call of a translator', () => {
  const incomplete = literalCalls.filter(({ key, values }) => {
    const names = [...values.matchAll(/(?:^|,)\s*(\w+)/g)].map(([, name]) => name);
    return namesIn(textIn('en', key)).some(name => !names.includes(name));
  });
  expect(literalCalls.length).toBeGreaterThan(100);
  expect(incomplete).toEqual([]);
});

describe.each(Object.keys(catalogs) as (keyof typeof catalogs)[])('the catalogue %s', language => {
  test('has the same keys as English', () => {
    expect(Object.keys(catalogs[language]).toSorted()).toEqual(keys.toSorted());
  });

  test('has the same placeholders as English', () => {
    const differing = keys.filter(
      key => namesIn(textIn(language, key)).join() !== namesIn(textIn('en', key)).join(),
    );
    expect(differing).toEqual([]);
  });

  test.each([0, 1, 2, 5_000])('renders every message with the count %d', async count => {
    const t = withPageTexts(await loadTexts(language, 'utc'), catalogs[language]);
    const broken = keys.filter(key => {
      const text = t(key, Object.fromEntries(namesIn(textIn('en', key)).map(name => [name, count])));
      return text === '' || text === key || /[{}#]/.test(text);
    });
    expect(broken).toEqual([]);
  });
});
