/** A violation of one lint rule, and the rule that must report it. */
export interface Plant {
  readonly name: string;
  /** Path of the file. Plants with the same path are put into one file, one after the other. */
  readonly file: string;
  readonly code: string;
  /** Rules that may report these lines. The first one must. */
  readonly rules: readonly [string, ...string[]];
  readonly message: string;
}
