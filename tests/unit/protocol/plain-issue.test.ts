/** The texts that people read when one of their fields is invalid. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { plainIssues } from '../../../protocol/plain-issue.ts';

const messageOf = (schema: z.ZodType, value: unknown): string | undefined =>
  schema.safeParse(value, plainIssues).error?.issues[0]?.message;

test.each([
  ['nothing', z.string(), undefined, 'is required'],
  ['a number for text', z.string(), 3, 'must be text'],
  ['a word for a number', z.number(), 'soon', 'must be a number'],
  ['a word for a number in a query', z.coerce.number(), 'soon', 'must be a number'],
  ['a fraction for a whole number', z.int(), 1.5, 'must be a whole number'],
  ['a word for a switch', z.boolean(), 'yes', 'must be true or false'],
  ['an object for a list', z.array(z.string()), {}, 'must be a list'],
  ['a list for an object', z.object({}), [], 'must be an object'],
  ['a word for a date', z.date(), 'today', 'must be a date'],
  ['a word for a big integer', z.bigint(), 'x', 'must be bigint'],
  ['too small a number', z.number().min(1), 0, 'must be at least 1'],
  ['the bound itself', z.number().gt(1), 1, 'must be more than 1'],
  ['too large a number', z.number().max(365), 366, 'must be at most 365'],
  ['the upper bound itself', z.number().lt(9), 9, 'must be less than 9'],
  ['an empty text', z.string().min(1), '', 'must not be empty'],
  ['too short a text', z.string().min(8), 'short', 'must have at least 8 characters'],
  ['too long a text', z.string().max(2), 'long', 'must have at most 2 characters'],
  ['too many entries', z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry'],
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
  ['another word', z.enum(['low', 'high']), 'medium', 'must be one of low, high'],
  ['another constant', z.literal('any'), 'all', 'must be any'],
  ['a number between steps', z.number().multipleOf(5), 3, 'must be a multiple of 5'],
  ['an unknown key', z.strictObject({}), { speed: 1 }, 'unknown key `speed`'],
  ['unknown keys', z.strictObject({}), { speed: 1, size: 2 }, 'unknown key `speed`, `size`'],
  ['a word for a time', z.iso.datetime(), 'now', 'must be a date and time such as 2026-01-31T12:00:00Z'],
  ['a word for a URL', z.url(), 'here', 'must be a URL'],
  ['another form', z.string().regex(/^j_/), 'x', 'does not have the form /^j_/'],
  ['a form without a pattern', z.jwt(), 'x', 'does not have the form jwt'],
  ['neither of two kinds', z.union([z.string(), z.number()]), true, 'must be text, or must be a number'],
  ['neither of two texts', z.union([z.string(), z.string().max(1)]), true, 'must be text'],
  ['a key that is too long', z.record(z.string().max(2), z.string()), { abc: 'x' }, 'Invalid key in record'],
])('a message says in plain words what is wrong with %s', (_what, schema, value, message) => {
  expect(messageOf(schema, value)).toBe(message);
});

test('the kind of an object that is not known keeps the message of zod', () => {
  const schema = z.discriminatedUnion('type', [z.object({ type: z.literal('a') })]);
  expect(messageOf(schema, { type: 'b' })).toBe("Invalid discriminator value. Expected 'a'");
});

test('a message of the schema itself wins', () => {
  const schema = z.string().regex(/^[a-z]+$/, 'use lower-case letters');
  expect(messageOf(schema, 'ABC')).toBe('use lower-case letters');
});
