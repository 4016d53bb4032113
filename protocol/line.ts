import { z } from 'zod';

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Text for people, on one line: line breaks, control and direction marks would let it pose as something else (S15). */
export const Line = z
  .string()
  .refine(text => !unseen.test(text), 'no line breaks, control or direction characters');

/** The same of what a machine says about itself: cleaned instead of refused, because it must not keep a worker out. */
export const CleanLine = z
  .string()
  .transform(text => text.replaceAll(new RegExp(unseen, 'gu'), ' ').slice(0, 200));
