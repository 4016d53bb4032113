import { z } from 'zod';

/** All but the joiner inside an emoji that is made of several, such as a family or a profession. */
const unseen =
  /(?!(?<=\p{Extended_Pictographic}(?:[\u{1F3FB}-\u{1F3FF}]|\uFE0F)?)\u200D(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const everyUnseen = new RegExp(unseen, 'gu');

/** Text for people, on one line: line breaks, control and direction marks would let it pose as something else (S15). */
export const Line = z
  .string()
  .refine(text => !unseen.test(text), 'no line breaks, control or direction characters');

/** A blank in the place of each of them: what others say goes to a terminal like this. */
export const cleanLine = (text: string): string => text.replaceAll(everyUnseen, ' ');

/** The same of what a machine says about itself: cleaned instead of refused, because it must not keep a worker out. */
export const CleanLine = z.string().transform(text => cleanLine(text).slice(0, 200));

/** JSON leaves some of them as they are: escaped they mean the same to a program, and nothing to a terminal. */
export const escapeUnseen = (json: string): string =>
  json.replaceAll(everyUnseen, char =>
    char === '\n'
      ? char
      : Array.from({ length: char.length }, (_, at) => escaped(char.charCodeAt(at))).join(''),
  );

const escaped = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
