import { expect, test } from 'vitest';
import { z } from 'zod';
import { plainIssues } from '../../../protocol/plain-issue.ts';

const messageOf = (schema: z.ZodType, value: unknown): string | undefined =>
  schema.safeParse(value, plainIssues).error?.issues[0]?.message;

test.each([
  ['a missing value', z.string(), undefined, 'is required'],
  ['a number instead of text', z.string(), 3, 'must be text'],
  ['a word instead of a number', z.number(), 'soon', 'must be a number'],
  ['a word instead of a number in a query', z.coerce.number(), 'soon', 'must be a number'],
  ['a fraction instead of a whole number', z.int(), 1.5, 'must be a whole number'],
  ['a word instead of a boolean', z.boolean(), 'yes', 'must be true or false'],
  ['an object instead of a list', z.array(z.string()), {}, 'must be a list'],
  ['a list instead of an object', z.object({}), [], 'must be an object'],
  ['a word instead of a date', z.date(), 'today', 'must be a date'],
  ['a word instead of a big integer', z.bigint(), 'x', 'must be bigint'],
  ['a number below the minimum', z.number().min(1), 0, 'must be at least 1'],
  ['a number at an exclusive minimum', z.number().gt(1), 1, 'must be more than 1'],
  ['a number above the maximum', z.number().max(365), 366, 'must be at most 365'],
  ['a number at an exclusive maximum', z.number().lt(9), 9, 'must be less than 9'],
  ['an empty text', z.string().min(1), '', 'must not be empty'],
  ['a text that is too short', z.string().min(8), 'short', 'must have at least 8 characters'],
  ['a text that is too long', z.string().max(2), 'long', 'must have at most 2 characters'],
  ['one entry too many', z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry'],
  ['a set with too few entries', z.set(z.string()).min(1), new Set(), 'must have at least 1 entry'],
  [
    'a map with too few entries',
    z.map(z.string(), z.string()).min(1),
    new Map(),
    'must have at least 1 entry',
  ],
  [
    'a list with too many entries',
    z.array(z.string()).max(2),
    ['a', 'b', 'c'],
    'must have at most 2 entries',
  ],
  ['an unknown word', z.enum(['low', 'high']), 'medium', 'must be one of low, high'],
  ['a value other than the required constant', z.literal('any'), 'all', 'must be any'],
  ['a number that is not a multiple of the step', z.number().multipleOf(5), 3, 'must be a multiple of 5'],
  ['an unknown key', z.strictObject({}), { speed: 1 }, 'unknown key `speed`'],
  ['unknown keys', z.strictObject({}), { speed: 1, size: 2 }, 'unknown key `speed`, `size`'],
  [
    'a word instead of a time',
    z.iso.datetime(),
    'now',
    'must be a date and time such as 2026-01-31T12:00:00Z',
  ],
  ['a word instead of a URL', z.url(), 'here', 'must be a URL'],
  ['a text that does not match a pattern', z.string().regex(/^j_/), 'x', 'does not have the form /^j_/'],
  ['a text that is not in a format without a pattern', z.jwt(), 'x', 'does not have the form jwt'],
  ['a value of neither type', z.union([z.string(), z.number()]), true, 'must be text, or must be a number'],
  ['a value of neither of two similar types', z.union([z.string(), z.string().max(1)]), true, 'must be text'],
  ['a key that is too long', z.record(z.string().max(2), z.string()), { abc: 'x' }, 'Invalid key in record'],
])('describes %s in plain words', (_title, schema, value, message) => {
  expect(messageOf(schema, value)).toBe(message);
});

test('keeps the message of zod for an unknown discriminator', () => {
  const schema = z.discriminatedUnion('type', [z.object({ type: z.literal('a') })]);
  expect(messageOf(schema, { type: 'b' })).toBe("Invalid discriminator value. Expected 'a'");
});

test('uses the message of the schema if the schema defines one', () => {
  const schema = z.string().regex(/^[a-z]+$/, 'use lower-case letters');
  expect(messageOf(schema, 'ABC')).toBe('use lower-case letters');
});
