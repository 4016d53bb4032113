// See docs/internals/faults.md, I5 and S21.
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSeal } from '../../../../main/audit/chain.ts';
import { makeRow } from './builders.ts';

const key = new Uint8Array(32).fill(7);
const seal = createSeal(key);
const row = makeRow();

test('seals a row with HMAC-SHA256 over the previous hash and every field, in lower-case hex', () => {
  const text = JSON.stringify([
    'before',
    7,
    1_000,
    'worker.offline',
    'worker',
    'w_1',
    '10.0.0.7',
    'worker',
    'w_1',
    '{"why":"silent"}',
  ]);
  expect(seal('before', row)).toBe(createHmac('sha256', key).update(text).digest('hex'));
  expect(seal('before', row)).toMatch(/^[0-9a-f]{64}$/);
});

describe('seals of different rows', () => {
  test.each(
    Object.entries({
      seq: 8,
      at: 1_001,
      type: 'worker.back',
      actor_type: 'admin',
      actor_id: 'w_2',
      address: '10.0.0.8',
      target_type: 'job',
      target_id: 'w_2',
      details: '{"why":"goodbye"}',
    }),
  )('returns a different seal when the field `%s` differs', (name, value) => {
    expect(seal('before', { ...row, [name]: value })).not.toBe(seal('before', row));
  });

  test.each([
    ['a different previous hash', seal('other', row)],
    ['no previous hash', seal(null, row)],
    ['the text "null" as previous hash', seal('null', row)],
    ['another key', createSeal(new Uint8Array(32).fill(8))('before', row)],
    ['a shorter key', createSeal(new Uint8Array(31).fill(7))('before', row)],
    ['no actor', seal('before', { ...row, actor_id: null })],
    ['the text "null" as actor', seal('before', { ...row, actor_id: 'null' })],
    [
      'text moved from one field to the next',
      seal('before', { ...row, actor_id: 'w_11', address: '0.0.0.7' }),
    ],
  ])('returns a different seal for %s', (_case, otherSeal) => {
    expect(otherSeal).not.toBe(seal('before', row));
  });
});

test('never returns the same seal for two different rows', () => {
  const text = fc.string({ unit: 'binary', maxLength: 8 });
  const randomRow = fc.record({
    before: fc.option(text),
    actor_id: fc.option(text),
    address: fc.option(text),
    target_id: text,
    details: text,
  });
  fc.assert(
    fc.property(randomRow, randomRow, ({ before, ...fields }, { before: otherBefore, ...otherFields }) => {
      const isSameRow = JSON.stringify([before, fields]) === JSON.stringify([otherBefore, otherFields]);
      const hashes = [seal(before, { ...row, ...fields }), seal(otherBefore, { ...row, ...otherFields })];
      expect(hashes[0] === hashes[1]).toBe(isSameRow);
    }),
  );
});
