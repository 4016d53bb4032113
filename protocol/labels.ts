import { z } from 'zod';

const limits = { entries: 64, chars: 64, stars: 3 };

const Key = z.string().min(1).max(limits.chars);

/** Zod silently drops `__proto__` from a record. A job that loses a label this way could run on any worker. */
const Raw = z
  .custom<Record<string, string | number | boolean>>(
    labels => typeof labels !== 'object' || labels === null || !Object.hasOwn(labels, '__proto__'),
    '"__proto__" is not a label name',
  )
  .meta({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } });

/** Converts numbers and booleans to text, because people write `{"rack": 4}`. */
const Value = z
  .union([z.string(), z.number(), z.boolean()])
  .transform(value => String(value))
  .pipe(z.string().max(limits.chars));

const atMost = (labels: object) => Object.keys(labels).length <= limits.entries;
const tooMany = `at most ${limits.entries} labels`;

export const Labels = Raw.pipe(z.record(Key, Value).refine(atMost, tooMany)).describe(
  'Labels of a worker, by name. Numbers and booleans become text. At most 64 entries of 64 characters.',
);
export type Labels = Readonly<z.output<typeof Labels>>;

export const LabelPatterns = Raw.pipe(
  z
    .record(
      Key,
      Value.refine(
        pattern => (pattern.match(/\*/g) ?? []).length <= limits.stars,
        `at most ${limits.stars} "*" in a pattern`,
      ),
    )
    .refine(atMost, tooMany),
).describe(
  'Labels that the worker must have: each value is a pattern in which `*` matches any characters, and all must match.',
);
export type LabelPatterns = Readonly<z.output<typeof LabelPatterns>>;
