import { expect, test } from 'vitest';
import { loadTexts } from '../../../../support/texts.ts';
import { formatDay, formatUsage } from '../../../../../renderer/pages/overview/usage/format.ts';

const en = await loadTexts('en', 'local');

test.each([
  ['gpu_hours', 0.0634, null, '0.0634 h'],
  ['gpu_hours', 12_345.6, null, '12,346 h'],
  ['energy_kwh', 2.2749, null, '2.27 kWh'],
  ['cost', 1_234.5, 'EUR', '1,234.50 EUR'],
  ['cost', 0.1, null, '0.10'],
] as const)('formats %s of %d with currency %s as "%s"', (name, value, currency, text) => {
  expect(formatUsage(en, name, value, currency)).toBe(text);
});

test('formats a day in UTC, even in a time zone where the date differs', () => {
  expect(formatDay(en, '2026-11-01')).toBe('Nov 1');
});
