/** What came of reading settings: a value, or what is wrong with them and how to write them. */
export type Loaded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

export const fail = (message: string): { readonly ok: false; readonly message: string } => ({
  ok: false,
  message,
});
