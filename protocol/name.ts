import { Line } from './line.ts';

/** Letters of these look alike, so that a word of several could pose as another one. */
const alphabets = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
];
const isOfOneAlphabet = (word: string): boolean =>
  alphabets.filter(alphabet => alphabet.test(word)).length <= 1;

/** The name of a token or of a team, as people see it in the audit trail and beside jobs. */
export const Name = Line.trim()
  .min(1, 'a name is needed')
  .max(60)
  .regex(/^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@+-]*$/u, 'letters, digits, spaces and . _ @ + - only')
  .refine(name => !/\p{Default_Ignorable_Code_Point}/u.test(name), 'no invisible characters')
  .refine(name => name.split(/[ ._@+-]/).every(isOfOneAlphabet), 'each word in letters of one alphabet');
