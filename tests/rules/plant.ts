/** A violation of one lint rule that the tests write into a file, and the rule that must report the violation. */
export interface Plant {
  readonly name: string;
  /** Path of the file. Plants with the same path are put into one file, one after the other. */
  readonly file: string;
  readonly code: string;
  /** The rules that are allowed to report these lines. The first rule must report them. */
  readonly rules: readonly [string, ...string[]];
  /** A part of the message of the first rule. */
  readonly message: string;
}
