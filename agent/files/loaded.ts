/** The result of reading settings: a value, or what is wrong with them and how to correct it. */
export type Loaded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

export const fail = (message: string): { readonly ok: false; readonly message: string } => ({
  ok: false,
  message,
});
