import { describe, expect, test } from 'vitest';
import { flatten } from '../../../protocol/compare-configs.ts';
import { columnKeys, ConfigValuesQuery, valueText } from '../../../protocol/config-values.ts';

const config = flatten({
  '--learning_rate': 1e-4,
  network: { rank: 8, tags: ['a', 'b'] },
  prompt: 'x'.repeat(200),
  hub_token: 'hf_secret',
  report: { api_key: 'k', token: '' },
  tokenizer: 'clip',
  empty: null,
});

describe('valueText', () => {
  test.each([
    ['learning_rate', '0.0001'],
    ['network.rank', '8'],
    ['network.tags', '["a","b"]'],
    ['tokenizer', 'clip'],
    ['empty', 'null'],
    ['absent', undefined],
    ['hub_token', '[redacted]'],
    ['report.api_key', '[redacted]'],
    ['report.token', ''],
  ])('returns the value of %s as text, and redacts secrets', (key, text) => {
    expect(valueText(config, key)).toBe(text);
  });

  test('cuts a long value to 80 characters', () => {
    expect(valueText(config, 'prompt')).toBe(`${'x'.repeat(79)}…`);
  });
});

test('columnKeys returns the keys that differ, except keys that a query cannot contain', () => {
  const tooLongKey = 'k'.repeat(201);
  const first = { rate: 1, same: 2, 'a,b': 3, [tooLongKey]: 1 };
  const second = { rate: 2, same: 2, 'a,b': 4, [tooLongKey]: 2, extra: true };
  expect(columnKeys([flatten(first), flatten(second)])).toEqual(['rate', 'extra']);
});

describe('ConfigValuesQuery', () => {
  test('parses comma-separated lists of jobs and keys', () => {
    expect(ConfigValuesQuery.parse({ jobs: 'j_1,j_2,', keys: 'a,b.c' })).toEqual({
      jobs: ['j_1', 'j_2'],
      keys: ['a', 'b.c'],
    });
    expect(ConfigValuesQuery.parse({ jobs: 'j_1' })).toEqual({ jobs: ['j_1'] });
  });

  test.each([
    ['no job', { jobs: '' }],
    ['an invalid job id', { jobs: 'j_1,../x' }],
    ['101 jobs', { jobs: Array.from({ length: 101 }, (_, n) => `j_${n}`).join() }],
    ['nine keys', { jobs: 'j_1', keys: 'a,b,c,d,e,f,g,h,i' }],
    ['a key of 201 characters', { jobs: 'j_1', keys: 'k'.repeat(201) }],
  ])('refuses a query with %s', (_title, query) => {
    expect(ConfigValuesQuery.safeParse(query).success).toBe(false);
  });
});
