/** The texts of each language have the same keys and placeholders as the English ones, and can be formatted. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import { describe, expect, test } from 'vitest';
import { en as frame } from '../../../../../renderer/i18n/en/index.ts';
import { columns as enColumns } from '../../../../../renderer/i18n/en/columns.ts';
import { gallery as enGallery } from '../../../../../renderer/i18n/en/gallery.ts';
import { pools as enPools } from '../../../../../renderer/i18n/en/pools.ts';
import { queue as enQueue } from '../../../../../renderer/i18n/en/queue.ts';
import { runs as enRuns } from '../../../../../renderer/i18n/en/runs.ts';
import { timeline as enTimeline } from '../../../../../renderer/i18n/en/timeline.ts';
import { es } from '../../../../../renderer/i18n/es/index.ts';
import { columns as esColumns } from '../../../../../renderer/i18n/es/columns.ts';
import { gallery as esGallery } from '../../../../../renderer/i18n/es/gallery.ts';
import { pools as esPools } from '../../../../../renderer/i18n/es/pools.ts';
import { queue as esQueue } from '../../../../../renderer/i18n/es/queue.ts';
import { runs as esRuns } from '../../../../../renderer/i18n/es/runs.ts';
import { timeline as esTimeline } from '../../../../../renderer/i18n/es/timeline.ts';
import { hi } from '../../../../../renderer/i18n/hi/index.ts';
import { columns as hiColumns } from '../../../../../renderer/i18n/hi/columns.ts';
import { gallery as hiGallery } from '../../../../../renderer/i18n/hi/gallery.ts';
import { pools as hiPools } from '../../../../../renderer/i18n/hi/pools.ts';
import { queue as hiQueue } from '../../../../../renderer/i18n/hi/queue.ts';
import { runs as hiRuns } from '../../../../../renderer/i18n/hi/runs.ts';
import { timeline as hiTimeline } from '../../../../../renderer/i18n/hi/timeline.ts';
import type { Language } from '../../../../../renderer/i18n/index.ts';
import { loadTexts } from '../../../../support/texts.ts';
import { withPageTexts } from '../../../../../renderer/i18n/page-texts.ts';
import { ja } from '../../../../../renderer/i18n/ja/index.ts';
import { columns as jaColumns } from '../../../../../renderer/i18n/ja/columns.ts';
import { gallery as jaGallery } from '../../../../../renderer/i18n/ja/gallery.ts';
import { pools as jaPools } from '../../../../../renderer/i18n/ja/pools.ts';
import { queue as jaQueue } from '../../../../../renderer/i18n/ja/queue.ts';
import { runs as jaRuns } from '../../../../../renderer/i18n/ja/runs.ts';
import { timeline as jaTimeline } from '../../../../../renderer/i18n/ja/timeline.ts';
import { zh } from '../../../../../renderer/i18n/zh/index.ts';
import { columns as zhColumns } from '../../../../../renderer/i18n/zh/columns.ts';
import { gallery as zhGallery } from '../../../../../renderer/i18n/zh/gallery.ts';
import { pools as zhPools } from '../../../../../renderer/i18n/zh/pools.ts';
import { queue as zhQueue } from '../../../../../renderer/i18n/zh/queue.ts';
import { runs as zhRuns } from '../../../../../renderer/i18n/zh/runs.ts';
import { timeline as zhTimeline } from '../../../../../renderer/i18n/zh/timeline.ts';

/** Includes the texts that load together with their page. */
const en = { ...frame, ...enColumns, ...enPools, ...enQueue, ...enRuns, ...enTimeline, ...enGallery };
const pagesOf = {
  en: { ...enColumns, ...enPools, ...enQueue, ...enRuns, ...enTimeline, ...enGallery },
  es: { ...esColumns, ...esPools, ...esQueue, ...esRuns, ...esTimeline, ...esGallery },
  zh: { ...zhColumns, ...zhPools, ...zhQueue, ...zhRuns, ...zhTimeline, ...zhGallery },
  hi: { ...hiColumns, ...hiPools, ...hiQueue, ...hiRuns, ...hiTimeline, ...hiGallery },
  ja: { ...jaColumns, ...jaPools, ...jaQueue, ...jaRuns, ...jaTimeline, ...jaGallery },
} as const;
const catalogs = {
  en,
  es: { ...es, ...esColumns, ...esPools, ...esQueue, ...esRuns, ...esTimeline, ...esGallery },
  zh: { ...zh, ...zhColumns, ...zhPools, ...zhQueue, ...zhRuns, ...zhTimeline, ...zhGallery },
  hi: { ...hi, ...hiColumns, ...hiPools, ...hiQueue, ...hiRuns, ...hiTimeline, ...hiGallery },
  ja: { ...ja, ...jaColumns, ...jaPools, ...jaQueue, ...jaRuns, ...jaTimeline, ...jaGallery },
} as const;
const keys = Object.keys(en) as readonly (keyof typeof en)[];

/** Returns the names of the placeholders in a text, including those in its plural forms. */
function namesIn(text: string): readonly string[] {
  const names = new Set<string>();
  const walk = (part: unknown): void => {
    if (!Array.isArray(part)) return;
    for (const token of part as readonly unknown[]) {
      if (!Array.isArray(token)) continue;
      const [name, , cases] = token as readonly unknown[];
      if (typeof name === 'string') names.add(name);
      if (typeof cases === 'object' && cases !== null) for (const each of Object.values(cases)) walk(each);
    }
  };
  walk(compileMessage(text));
  return [...names].toSorted();
}

const root = fileURLToPath(new URL('../../../../../renderer/', import.meta.url));
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

test('uses every message somewhere', () => {
  expect(keys.filter(key => !isUsed(key))).toEqual([]);
});

describe.each(Object.keys(catalogs) as Language[])('the catalogue %s', language => {
  test('has the same keys as English', () => {
    expect(Object.keys(catalogs[language]).toSorted()).toEqual(keys.toSorted());
  });

  test('has the same placeholders as English', () => {
    const others = keys.filter(key => namesIn(catalogs[language][key]).join() !== namesIn(en[key]).join());
    expect(others).toEqual([]);
  });

  test.each([0, 1, 2, 5_000])('renders every message with the count %d', async count => {
    const t = withPageTexts(await loadTexts(language, 'utc'), pagesOf[language]);
    const broken = keys.filter(key => {
      const said = t(key, Object.fromEntries(namesIn(en[key]).map(name => [name, count])));
      return said === '' || said === key || /[{}#]/.test(said);
    });
    expect(broken).toEqual([]);
  });
});
