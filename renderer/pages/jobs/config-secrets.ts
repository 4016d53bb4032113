/** Matches names of settings with credentials of other services: `hub_token`, `--tracker_api_key`, `awsSecretKey`. */
const secretWords =
  /(?:^|[_\W])(?:tokens?|secrets?|passwords?|passphrases?|credentials?|(?:api|access|private|secret)_?keys?)(?:$|[_\W])/i;

export const isSecret = (name: string): boolean =>
  secretWords.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'));

export const hidden = '••••••';

export interface Concealed {
  readonly value: unknown;
  /** Number of hidden values. */
  readonly count: number;
}

/** Replaces secrets, so that neither onlookers nor screenshots reveal them. */
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
