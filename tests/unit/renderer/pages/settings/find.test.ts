import { describe, expect, it } from 'vitest';
import { settingsTopics as english } from '../../../../../renderer/i18n/en/settings-topics.ts';
import { settingsTopics as spanish } from '../../../../../renderer/i18n/es/settings-topics.ts';
import { loadLanguage } from '../../../../../renderer/i18n/index.ts';
import { withPageTexts } from '../../../../../renderer/i18n/page-texts.ts';
import { findSettings, maxFound } from '../../../../../renderer/pages/settings/find.ts';
import type { Topic } from '../../../../../renderer/pages/settings/topics.ts';

type Topics = readonly Pick<Topic, 'name' | 'title' | 'entries'>[];

const topics: Topics = [
  {
    name: 'general',
    title: 'topics.general',
    entries: [
      { id: 'theme', label: 'settings.theme', texts: ['settings.theme.dark', 'settings.theme.light'] },
      { id: 'language', label: 'settings.language', words: ['Español', '日本語'] },
    ],
  },
  {
    name: 'data',
    title: 'topics.data',
    entries: [{ id: 'backups', label: 'backups.title', texts: ['backups.what'] }],
  },
];
async function translatorOf(language: 'en' | 'es') {
  const { t, loadAll } = await loadLanguage(language, 'local');
  await loadAll();
  return withPageTexts(t, language === 'en' ? english : spanish);
}
const [en, es] = [await translatorOf('en'), await translatorOf('es')];
const hrefs = (query: string, t = en, topicsToSearch: Topics = topics): readonly string[] =>
  findSettings(topicsToSearch, query, t).map(({ href }) => href);

describe('the search of the settings', () => {
  it('finds a setting by its label, its description, an option or its topic', () => {
    expect(hrefs('lang')).toEqual(['/settings/general#language']);
    // The English text of `backups.what` mentions the audit trail.
    expect(hrefs('audit trail')).toEqual(['/settings/data#backups']);
    expect(hrefs('dark')).toEqual(['/settings/general#theme']);
    expect(hrefs('general')).toEqual(['/settings/general#theme', '/settings/general#language']);
  });

  it('requires each word of the query, in any order and in any text of the setting', () => {
    expect(hrefs('light theme general')).toEqual(['/settings/general#theme']);
    expect(hrefs('light language')).toEqual([]);
  });

  it('ignores case, accents and surrounding spaces, also in other languages', () => {
    expect(hrefs('  ESPANOL ')).toEqual(['/settings/general#language']);
    expect(hrefs('日本')).toEqual(['/settings/general#language']);
    expect(hrefs('claro', es)).toEqual(['/settings/general#theme']);
    expect(hrefs('light', es)).toEqual([]);
  });

  it('returns the matching text, or null when the label or the topic matches', () => {
    expect(findSettings(topics, 'dark', en)).toMatchObject([
      { label: 'Theme', topic: 'General', text: 'Dark' },
    ]);
    expect(findSettings(topics, 'theme', en)).toMatchObject([{ label: 'Theme', text: null }]);
  });

  it('lists settings with a matching label first, and no more settings than the limit', () => {
    const many = Array.from({ length: 20 }, (_, n) => ({ id: `b${n}`, label: 'settings.theme' }) as const);
    const results = hrefs('light', en, [
      {
        name: 'one',
        title: 'nav.jobs',
        entries: [{ id: 'a', label: 'nav.jobs', texts: ['settings.theme.light'] }],
      },
      { name: 'two', title: 'nav.jobs', entries: [{ id: 'b', label: 'settings.theme.light' }] },
    ]);
    expect(results).toEqual(['/settings/two#b', '/settings/one#a']);
    expect(hrefs('theme', en, [{ name: 'x', title: 'nav.jobs', entries: many }])).toHaveLength(maxFound);
  });

  it('finds no settings for an empty query', () => {
    expect(hrefs('')).toEqual([]);
    expect(hrefs('   ')).toEqual([]);
  });
});
