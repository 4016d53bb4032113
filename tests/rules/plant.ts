/** One violation of each rule of the house, with the rule that has to refuse it. */
export interface Plant {
  readonly name: string;
  /** Plants that name the same file share it, one after the other: a room may be a single file. */
  readonly file: string;
  readonly code: string;
  /** Every rule that may speak about these lines; the first one is the one that is tested. */
  readonly rules: readonly [string, ...string[]];
  readonly message: string;
}
