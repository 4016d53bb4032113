import { Line } from './line.ts';

/** Alphabets with similar letters: a word that mixes them could imitate another one. */
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
  .min(1, 'a name is needed')
  .max(60)
  .regex(/^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@+-]*$/u, 'letters, digits, spaces and . _ @ + - only')
  .refine(name => !/\p{Default_Ignorable_Code_Point}/u.test(name), 'no invisible characters')
  .refine(name => name.split(/[ ._@+-]/).every(isOfOneAlphabet), 'each word in letters of one alphabet');
