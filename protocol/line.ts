import { z } from 'zod';

/**
 * Control and format characters, except the zero-width joiner inside composed emoji such as families and professions.
 */
const unseen =
  /(?!(?<=\p{Extended_Pictographic}(?:[\u{1F3FB}-\u{1F3FF}]|\uFE0F)?)\u200D(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const everyUnseen = new RegExp(unseen, 'gu');

/** A single line of text. Line breaks, control and direction characters could disguise it as something else (S15). */
export const Line = z
  .string()
  .refine(text => !unseen.test(text), 'no line breaks, control or direction characters');

/** Replaces each of them by a space, so that text from others is safe to print to a terminal. */
export const cleanLine = (text: string): string => text.replaceAll(everyUnseen, ' ');

/**
 * Text that a machine reports about itself. It is cleaned instead of refused, so that it cannot keep a worker from registering.
 */
export const CleanLine = z.string().transform(text => cleanLine(text).slice(0, 200));

/**
 * Escapes characters that JSON leaves as they are. Programs read the same value, and terminals do not interpret them.
 */
export const escapeUnseen = (json: string): string =>
  json.replaceAll(everyUnseen, char =>
    char === '\n'
      ? char
      : Array.from({ length: char.length }, (_, at) => escaped(char.charCodeAt(at))).join(''),
  );

const escaped = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
