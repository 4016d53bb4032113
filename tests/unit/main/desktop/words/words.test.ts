import { describe, expect, test } from 'vitest';
import { wordsFor } from '../../../../../main/desktop/words/index.ts';
import { languages } from '../../../../../renderer/i18n/index.ts';

// Returns all texts. Placeholders are filled with `count`.
function textsOf(words: object, count: number): readonly string[] {
  return Object.values(words).flatMap((word: unknown): readonly string[] => {
    if (typeof word === 'string') return [word];
    if (typeof word === 'function') return [String((word as (value: unknown) => unknown)(count))];
    return textsOf(word as object, count);
  });
}

describe.each(Object.keys(languages))('texts of the app in %s', language => {
  const texts = wordsFor([language]);

  test('has a text for every key, and the count in every text that needs a count', () => {
    expect(textsOf(texts, 7).filter(text => text.trim() === '')).toEqual([]);
    for (const name of [
      'moreJobs',
      'jobsRunning',
      'workersConnected',
      'completed',
      'failed',
      'lost',
      'quitQuestion',
      'portTaken',
    ] as const)
      expect(texts[name](7)).toContain('7');
    expect(texts.workerLost('rig-1')).toContain('rig-1');
    expect(texts.jobOfWorker('flux')).toContain('flux');
  });

  test('returns an empty text for a count of zero, except for running jobs', () => {
    expect([texts.completed(0), texts.failed(0), texts.lost(0)]).toEqual(['', '', '']);
    expect(texts.jobsRunning(0)).not.toBe('');
  });

  test('translates the texts unless the language is English', () => {
    const isEnglish = texts.quit === wordsFor(['en']).quit;
    expect(isEnglish).toBe(language === 'en');
  });
});

test('selects the first system language that has texts, or English', () => {
  expect(wordsFor(['fr-FR', 'ja-JP', 'en']).pause).toBe(wordsFor(['ja']).pause);
  expect(wordsFor(['zh-Hant-TW']).quitShort).toBe('退出');
  expect(wordsFor(['fr', 'de']).quitShort).toBe('Quit');
  expect(wordsFor([]).quitShort).toBe('Quit');
});
