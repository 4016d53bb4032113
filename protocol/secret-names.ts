/**
 * Matches setting names that usually hold credentials of other services: `hub_token`, `--tracker_api_key`,
 * `awsSecretKey`.
 */
const secretWords =
  /(?:^|[_\W])(?:tokens?|secrets?|passwords?|passphrases?|credentials?|(?:api|access|private|secret)_?keys?)(?:$|[_\W])/i;

/** Returns true if a setting with this name probably holds a secret, which people see only on request. */
export const isSecretName = (name: string): boolean =>
  secretWords.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'));
