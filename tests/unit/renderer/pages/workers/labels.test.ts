import { expect, test } from 'vitest';
import { parseLabels, formatLabels } from '../../../../../renderer/pages/workers/labels.tsx';

test('parses labels separated by lines or commas, and trims spaces', () => {
  expect(parseLabels(' team = nlp \n\nrack=4, note=a b=c\n')).toEqual({
    ok: true,
    labels: { team: 'nlp', rack: '4', note: 'a b=c' },
  });
  expect(parseLabels('')).toEqual({ ok: true, labels: {} });
  expect(parseLabels('empty=')).toEqual({ ok: true, labels: { empty: '' } });
});

test.each(['team', '=nlp', 'my team=nlp', `${'k'.repeat(65)}=v`, `k=${'v'.repeat(65)}`, '__proto__=x'])(
  'rejects the label %s',
  line => {
    expect(parseLabels(`a=b\n${line}`)).toEqual({ ok: false, line });
  },
);

test('rejects more than 64 labels', () => {
  const lines = Array.from({ length: 65 }, (_, index) => `k${index}=v`);
  expect(parseLabels(lines.join('\n'))).toEqual({ ok: false, line: 'k64=v' });
  expect(parseLabels(lines.slice(1).join('\n')).ok).toBe(true);
});

test('round-trips labels through their text', () => {
  const labels = { team: 'nlp', rack: '4', empty: '' };
  expect(parseLabels(formatLabels(labels))).toEqual({ ok: true, labels });
});
