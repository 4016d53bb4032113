/** Tests the preferences of a user and their storage in the browser. */
import { beforeEach, expect, test } from 'vitest';
import { perLocale } from '../../../../renderer/i18n/formats.ts';
import { createPreferences } from '../../../../renderer/state/stores.ts';

let stored: Map<string, string>;
beforeEach(() => {
  stored = new Map();
});

const storage = (): Storage => ({
  length: 0,
  clear: () => stored.clear(),
  key: () => null,
  getItem: key => stored.get(key) ?? null,
  setItem: (key, value) => void stored.set(key, value),
  removeItem: key => void stored.delete(key),
});

test('uses the language of the browser and the default preferences at the first visit', () => {
  expect(createPreferences(storage(), ['fr', 'ja-JP']).getState()).toEqual({
    theme: 'system',
    language: 'ja',
    zone: 'local',
    jobColumns: [],
  });
});

test('restores the saved preferences', () => {
  createPreferences(storage(), ['en']).setState({
    theme: 'dark',
    zone: 'utc',
    language: 'hi',
    jobColumns: ['learning_rate', 'rank'],
  });
  expect(createPreferences(storage(), ['en']).getState()).toEqual({
    theme: 'dark',
    zone: 'utc',
    language: 'hi',
    jobColumns: ['learning_rate', 'rank'],
  });
});

test.each([
  '',
  'null',
  '[]',
  '{"theme":"pink","language":"tlh","zone":"mars","jobColumns":[1,null]}',
  '{"theme":1',
])('ignores invalid saved preferences: %j', text => {
  stored.set('trainyard.preferences', text);
  expect(createPreferences(storage(), ['en']).getState()).toEqual({
    theme: 'system',
    language: 'en',
    zone: 'local',
    jobColumns: [],
  });
});

test('formats a time in the chosen zone', () => {
  const time = Date.UTC(2026, 0, 31, 23, 5);
  const options = { dateStyle: 'medium', timeStyle: 'long' } as const;
  const formatOf = perLocale(options);
  expect(formatOf({ language: 'en', zone: 'utc' }).format(time)).toMatch(/^Jan 31, 2026, 11:05:00\sPM UTC$/);
  const local = new Intl.DateTimeFormat('en', options).format(time);
  expect(formatOf({ language: 'en', zone: 'local' }).format(time)).toBe(local);
});
