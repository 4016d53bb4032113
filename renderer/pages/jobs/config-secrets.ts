/** Names of settings that hold what lets somebody into another service: `hub_token`, `--tracker_api_key`, `awsSecretKey`. */
const secretWords =
  /(?:^|[_\W])(?:tokens?|secrets?|passwords?|passphrases?|credentials?|(?:api|access|private|secret)_?keys?)(?:$|[_\W])/i;

export const isSecret = (name: string): boolean =>
  secretWords.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'));

export const hidden = '••••••';

export interface Concealed {
  readonly value: unknown;
  /** How many values are hidden. */
  readonly count: number;
}

/** The same without what somebody who looks over a shoulder, or at a screenshot, should not have. */
export function conceal(value: unknown): Concealed {
  if (Array.isArray(value)) {
    const parts = value.map(conceal);
    return { value: parts.map(part => part.value), count: sum(parts) };
  }
  if (typeof value !== 'object' || value === null) return { value, count: 0 };
  const parts = Object.entries(value).map(([name, part]: readonly [string, unknown]) => ({
    name,
    ...(isSecret(name) && isFilled(part) ? { value: hidden, count: 1 } : conceal(part)),
  }));
  return { value: Object.fromEntries(parts.map(part => [part.name, part.value])), count: sum(parts) };
}

const isFilled = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';

const sum = (parts: readonly { readonly count: number }[]): number =>
  parts.reduce((total, { count }) => total + count, 0);
