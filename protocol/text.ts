/** Schemas and functions for text that people write or read: single lines, names, labels and sizes. */
import { z } from 'zod';

/** A zero-width joiner between emoji combines them into one symbol, such as a family. */
const emojiJoiner = String.raw`(?<=\p{Extended_Pictographic}(?:[\u{1F3FB}-\u{1F3FF}]|\uFE0F)?)\u200D(?=\p{Extended_Pictographic})`;
/** After the virama of an Indian script, a joiner selects the form of the consonants (RFC 5892, appendix A.1 and A.2). */
const indicJoiner = String.raw`(?<=[\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D4D\u0DCA])[\u200C\u200D]`;

/** Control and format characters, except joiners that are part of a text. */
const invisible = new RegExp(`(?!${emojiJoiner}|${indicJoiner})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]`, 'u');
const everyInvisible = new RegExp(invisible, 'gu');

/**
 * A single line of text. Line breaks, control characters and direction characters are refused, because they could
 * disguise the text (docs/internals/faults.md S15).
 */
export const Line = z
  .string()
  .refine(text => !invisible.test(text), 'must not contain line breaks, control or direction characters');

/** Replaces each invisible character by a space, so that text from others is safe to print to a terminal. */
export const cleanLine = (text: string): string => text.replaceAll(everyInvisible, ' ');

/**
 * Text that a machine reports about itself. Invalid characters are replaced instead of rejected, so that they cannot
 * prevent a registration.
 */
export const CleanLine = z.string().transform(text => cleanLine(text).slice(0, 200));

/** Escapes invisible characters in JSON text, so that terminals do not interpret them. Programs read the same value. */
export const escapeInvisible = (json: string): string =>
  json.replaceAll(everyInvisible, char => (char === '\n' ? char : escapedCharacter(char)));

const escapedCharacter = (char: string): string =>
  Array.from({ length: char.length }, (_, at) => escapedUnit(char.charCodeAt(at))).join('');

const escapedUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

/** Alphabets with similar letters. A word that mixes them could look like another word. */
const alphabets = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
];
const isOfOneAlphabet = (word: string): boolean =>
  alphabets.filter(alphabet => alphabet.test(word)).length <= 1;

/** Name of a token or team, as shown in the audit trail and with jobs. */
export const Name = Line.trim()
  .min(1, 'a name is required')
  .max(60)
  .regex(/^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@+-]*$/u, 'letters, digits, spaces and . _ @ + - only')
  .refine(name => !/\p{Default_Ignorable_Code_Point}/u.test(name), 'must not contain invisible characters')
  .refine(
    name => name.split(/[ ._@+-]/).every(isOfOneAlphabet),
    'each word must use letters of one alphabet',
  );

const labelLimits = { entries: 64, chars: 64, stars: 3 };

const LabelName = z.string().min(1).max(labelLimits.chars);

/** Refuses `__proto__`, because Zod silently drops it. A job that loses a required label could run on any worker. */
const RawLabels = z
  .custom<Record<string, string | number | boolean>>(
    labels => typeof labels !== 'object' || labels === null || !Object.hasOwn(labels, '__proto__'),
    '"__proto__" is not a label name',
  )
  .meta({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } });

/** Converts numbers and booleans to text, because people write `{"rack": 4}`. */
const LabelValue = z
  .union([z.string(), z.number(), z.boolean()])
  .transform(value => String(value))
  .pipe(z.string().max(labelLimits.chars));

const isWithinLimit = (labels: object) => Object.keys(labels).length <= labelLimits.entries;
const tooMany = `at most ${labelLimits.entries} labels`;

export const Labels = RawLabels.pipe(z.record(LabelName, LabelValue).refine(isWithinLimit, tooMany)).describe(
  'Labels of a worker, by name. Numbers and booleans become text. At most 64 entries of 64 characters.',
);
export type Labels = Readonly<z.output<typeof Labels>>;

export const LabelPatterns = RawLabels.pipe(
  z
    .record(
      LabelName,
      LabelValue.refine(
        pattern => (pattern.match(/\*/g) ?? []).length <= labelLimits.stars,
        `at most ${labelLimits.stars} "*" in a pattern`,
      ),
    )
    .refine(isWithinLimit, tooMany),
).describe(
  'Labels that the worker must have: each value is a pattern in which `*` matches any characters, and all must match.',
);
export type LabelPatterns = Readonly<z.output<typeof LabelPatterns>>;

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** Formats a number of bytes in the largest suitable unit: "12.3 MB". A kB is 1,000 bytes. */
export function sizeText(bytes: number): string {
  const unit = Math.max(
    0,
    units.findLastIndex((_, power) => Number(bytes.toPrecision(3)) >= 1_000 ** power),
  );
  return `${Number((bytes / 1_000 ** unit).toPrecision(3))} ${units[unit]}`;
}
