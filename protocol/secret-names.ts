/**
 * Matches names of settings that usually contain credentials of other services: `hub_token`, `--tracker_api_key`,
 * `awsSecretKey`.
 */
const secretWords =
  /(?:^|[_\W])(?:tokens?|secrets?|passwords?|passphrases?|credentials?|(?:api|access|private|secret)_?keys?)(?:$|[_\W])/i;

/** Whether a setting with this name probably contains a secret, so that it is hidden by default. */
export const isSecretName = (name: string): boolean =>
  secretWords.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'));
