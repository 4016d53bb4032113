import { z } from 'zod';
import type { Random } from './random.ts';

/** The keywords of JSON Schema that the schemas of the API calls use. */
const Shape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  items: z.unknown().optional(),
  additionalProperties: z.unknown().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
});

const deep = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown;

/** Values that attackers and broken clients send. */
export const hostile: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  -0,
  1.5,
  1e308,
  -1e308,
  2 ** 53,
  '',
  ' ',
  '0',
  'null',
  'x'.repeat(300),
  'x'.repeat(20_000),
  '../../etc/passwd',
  '..%2f..%2fetc',
  '/etc/passwd',
  'C:\\con',
  '$(touch x)',
  "'; DROP TABLE jobs; --",
  '<script>alert(1)</script>',
  '\u0000',
  'a\nb\r\ndata: {"type":"shutdown"}',
  '\u202eevil',
  '\ud800',
  '\u001b[31m',
  '*a*a*a*a*b',
  '__proto__',
  'constructor',
  '9'.repeat(40),
  '1e999',
  '2026-02-30T25:61:61Z',
  [],
  [[]],
  [null],
  {},
  { toString: null },
  { length: 1e9 },
  JSON.parse('{"__proto__": {"admin": true}}') as unknown,
  deep(200),
  Array.from({ length: 2_000 }, (_, index) => index),
  Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 'v'])),
];

const words = [
  'rig-1',
  'selftest',
  'gpu_type',
  'a100*',
  'ada',
  'now',
  'queue.view',
  'kept',
  'x',
  '2026-01-01T00:00:00Z',
];

/** Returns a value that fits the schema. `hostility` is the probability of a hostile value in place of each part. */
export function valueLike(
  schema: unknown,
  random: Random,
  hostility: number,
  realId: () => string,
  depth = 0,
): unknown {
  if (random.chance(hostility)) return random.pick(hostile);
  const shape = Shape.catch({}).parse(schema);
  const choices = shape.anyOf ?? shape.oneOf;
  if (choices !== undefined && choices.length > 0)
    return valueLike(random.pick(choices), random, hostility, realId, depth);
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined && shape.enum.length > 0) return random.pick(shape.enum);
  const type = Array.isArray(shape.type) ? random.pick(shape.type) : shape.type;
  switch (type) {
    case 'object':
      return objectLike(shape, random, hostility, realId, depth);
    case 'array':
      return Array.from({ length: random.below(4) }, () =>
        valueLike(shape.items, random, hostility, realId, depth + 1),
      );
    case 'integer':
      return (
        (shape.minimum ?? 0) +
        random.below(Math.min(1_000, (shape.maximum ?? 1_000) - (shape.minimum ?? 0) + 1))
      );
    case 'number':
      return (shape.minimum ?? 0) + random.next() * 100;
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    case undefined:
      return depth > 3 ? null : random.pick(hostile);
    case 'string':
      return stringLike(shape, random, realId);
    default:
      return depth > 3 ? null : random.pick(hostile);
  }
}

/** Returns a time for the format `date-time`, usually an existing id for a schema with a pattern, otherwise a word. */
function stringLike(
  { pattern, format }: z.output<typeof Shape>,
  random: Random,
  realId: () => string,
): string {
  if (format === 'date-time') return '2026-01-01T00:00:00Z';
  return pattern !== undefined && random.chance(0.8) ? realId() : random.pick(words);
}

function objectLike(
  shape: z.output<typeof Shape>,
  random: Random,
  hostility: number,
  realId: () => string,
  depth: number,
): unknown {
  const result: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(shape.properties ?? {})) {
    const isIncluded =
      shape.required?.includes(name) === true ? !random.chance(hostility) : random.chance(0.4);
    if (isIncluded) result[name] = valueLike(property, random, hostility, realId, depth + 1);
  }
  const more = typeof shape.additionalProperties === 'object' ? random.below(3) : 0;
  for (let n = 0; n < more; n += 1)
    result[random.pick(words)] = valueLike(shape.additionalProperties, random, hostility, realId, depth + 1);
  if (random.chance(hostility)) result[`unknown_${random.below(9)}`] = random.pick(hostile);
  return result;
}
