/**
 * What secrets look like in print. Each pattern ends with the secret: its last group that took part, or all of it. Time grows with
 * the length of the text: what is repeated without a bound is either taken by the match, or begins at a mark that it can't contain.
 */
export interface SecretPattern {
  readonly pattern: RegExp;
  /** For what only looks like one at first sight. */
  readonly accept?: (secret: string) => boolean;
}

/** Quoted to its closing quote (or to the end, when that is missing), or bare to the next blank. */
const value = String.raw`(?:"([^"\r\n]*)|'([^'\r\n]*)|([^ \t\r\n"']+))`;
const is = String.raw`[ \t]{0,3}[:=][ \t]{0,3}["']?`;

const bare = (text: string): string => text.replace(/[,;)\]}]{1,3}$/, '');
const isMixed = (text: string): boolean => /\d/.test(text) && /[a-z]/i.test(text);
/** `eos_token=</s>`, `MAX_TOKEN=512`, `API_KEY=None`, `SECRET=***`: said of secrets, and none. */
const isNothing = (text: string): boolean =>
  /^(?:<.*|\[\w*\]?|\*+|\.+|\$\{?\w+\}?|none|null|nil|true|false|unset|undefined)$/i.test(bare(text));
const isPlace = (text: string): boolean => /^[.~]{0,2}\/|\.[a-z]{2,12}$/i.test(text);

export const secretPatterns: readonly SecretPattern[] = [
  // Hugging Face, GitHub, GitLab, Slack, Weights & Biases, Replicate, Stripe.
  {
    pattern:
      /(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|wandb_v1_\w{16,}|r8_[A-Za-z0-9]{30,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})/g,
  },
  // Our own: of workers, to join with, of people; of an attempt's uploads.
  { pattern: /(?<![A-Za-z0-9_-])(?:wt|tj|ta|tk|ts)_[A-Za-z0-9_-]{32,}/g },
  { pattern: /(?<![A-Za-z0-9_-])tu_\w{1,80}\.\w{1,80}\.[A-Za-z0-9_-]{16,}/g },
  { pattern: /(?<![A-Za-z0-9+/])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9+/])/g },
  { pattern: /secret_?(?:access_?)?key["']?[ \t]{0,3}[:=][ \t]{0,3}["']?([A-Za-z0-9/+=]{30,})/gi },
  // OpenAI and those who write theirs alike; not what a person has called an experiment.
  {
    pattern: /(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,}/g,
    accept: key => /\d/.test(key) && (/[A-Z]/.test(key) || /[a-z0-9]{32}/.test(key)),
  },
  // JSON Web Tokens: header and claims begin with `{"`.
  { pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g },
  { pattern: /hooks\.slack\.com\/services\/([\w/]{20,})/g },
  { pattern: /discord(?:app)?\.com\/api\/webhooks\/([\w/-]{20,})/g },
  // Headers of HTTP.
  {
    pattern: new RegExp(
      String.raw`authorization["']?${is}(?:bearer|basic|token)[ \t]{1,3}([^ \t\r\n"',]+)`,
      'gi',
    ),
  },
  { pattern: /(?<![a-z])bearer[ \t]{1,3}([a-z0-9._~+/=-]{16,})/gi, accept: isMixed },
  {
    pattern: new RegExp(String.raw`x-[a-z-]{0,20}(?:token|key)["']?${is}([^ \t\r\n"',]{8,})`, 'gi'),
  },
  // URLs: the password, or a token in the place of the user; what signs a link.
  { pattern: /(?<=:\/\/)[^ \t\r\n/@:"'<>]*:([^ \t\r\n/"'<>]+)(?=@)/g },
  { pattern: /(?<=:\/\/)([^ \t\r\n/@:"'<>]{16,})(?=@)/g },
  {
    pattern:
      /[?&](?:access_token|token|api_?key|sig|signature|x-amz-signature|x-amz-security-token)=([^ \t\r\n&"'<>]{8,})/gi,
  },
  // Weights & Biases: 40 hex digits, as a commit has, so only where it is called a key.
  { pattern: /wandb[^\r\n]{0,40}?(?:key|login)[^\r\n]{0,20}?(?<![0-9a-f])([0-9a-f]{40})(?![0-9a-f])/gi },
  // Assignments, as in a shell ...
  {
    pattern: new RegExp(
      String.raw`(?:TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY)=${value}`,
      'g',
    ),
    accept: text => !isNothing(text) && !/^\d{1,7}(?:\.\d+)?$/.test(bare(text)),
  },
  {
    pattern: new RegExp(String.raw`passw(?:or)?d[ \t]{0,2}=[ \t]{0,2}${value}`, 'gi'),
    accept: text => !isNothing(text),
  },
  // ... in JSON or Python ...
  {
    pattern:
      /(?:passw(?:or)?d|secret|api_?key|access_?key|private_?key)["'][ \t]{0,3}:[ \t]{0,3}["']([^"'\r\n]{4,})/gi,
    accept: text => !isNothing(text),
  },
  // ... and in any other spelling what is long and mixed enough to be no word.
  {
    pattern: new RegExp(
      String.raw`(?:token|secret|api[_-]?key|access[_-]?key)["']?${is}([^ \t\r\n"',;()]{16,})`,
      'gi',
    ),
    accept: text => isMixed(text) && !isNothing(text) && !isPlace(text),
  },
  {
    pattern: /--[\w-]{0,40}(?:token|secret|passw(?:or)?d|api[_-]?key)[ \t]{1,2}["']?([^ \t\r\n"']{8,})/gi,
    accept: text => isMixed(text) && !isNothing(text) && !isPlace(text),
  },
];

/** Whether a text may hold a secret at all: most lines do not, and this is cheaper than all patterns. */
export const mayHoldSecret = (text: string): boolean =>
  /token|secret|passw|key|-----BEGIN |bearer|authorization|:\/\/|hf_|api_org_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|wandb|r8_|k_live_|k_test_|(?:wt|tj|ta|tk|ts|tu)_|AKIA|ASIA|sk-|eyJ|hooks\.|discord|[?&]sig/i.test(
    text,
  );
