import { describe, expect, it } from 'vitest';
import { type ActionEntry, matchActions, objectWords } from '../../../../../renderer/app/palette/entries.ts';

const entry = (action: string, name: string | null = null): ActionEntry => ({
  id: `${action} ${name}`,
  action,
  text: name === null ? action : `${action}: ${name}`,
  onSelect: () => undefined,
});
const entries = [
  entry('Submit job'),
  entry('Pause queue'),
  entry('Cancel job', 'flux-lora'),
  entry('Cancel job', 'sdxl-cats'),
  entry('Retry', 'flux-lora'),
];
const textsFor = (query: string, max = 8): readonly string[] =>
  matchActions(entries, query, max).map(({ text }) => text);

describe('matchActions', () => {
  it.each([
    ['cancel flux', ['Cancel job: flux-lora']],
    ['flux cancel', ['Cancel job: flux-lora']],
    ['PAUSE', ['Pause queue']],
    ['job', ['Submit job', 'Cancel job: flux-lora', 'Cancel job: sdxl-cats']],
    ['  retry   ', ['Retry: flux-lora']],
  ])('finds the actions that contain every word of "%s"', (query, texts) => {
    expect(textsFor(query)).toEqual(texts);
  });

  it.each(['flux-lora', 'cancel nothing', '', ' '])('finds no action for the query "%s"', query => {
    expect(textsFor(query)).toEqual([]);
  });

  it('returns at most the given number of actions', () => {
    expect(textsFor('job', 2)).toEqual(['Submit job', 'Cancel job: flux-lora']);
  });
});

describe('objectWords', () => {
  it.each([
    ['cancel flux lora', 'flux lora'],
    ['flux', 'flux'],
    ['Cancel', ''],
    ['', ''],
  ])('removes the words of actions from "%s"', (query, rest) => {
    expect(objectWords(query, ['Cancel job', 'Drain'])).toBe(rest);
  });
});
