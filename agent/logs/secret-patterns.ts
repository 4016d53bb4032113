/**
 * A pattern of secrets in printed text. Each match ends with the secret: the last group that matched, or the whole match.
 * The matching time must be linear in the length of the text. Therefore, each unlimited repetition must be a part of the
 * match, or start at a character that the repetition cannot contain.
 */
export interface SecretPattern {
  readonly pattern: RegExp;
  /** Returns false for a match that is not a secret. */
  readonly accept?: (secret: string) => boolean;
}

/** A value in quotes (to the end of the line if the closing quote is missing), or a bare value up to the next blank. */
const valuePattern = String.raw`(?:"([^"\r\n]*)|'([^'\r\n]*)|([^ \t\r\n"']+))`;
const separator = String.raw`[ \t]{0,3}[:=][ \t]{0,3}["']?`;

const bare = (text: string): string => text.replace(/[,;)\]}]{1,3}$/, '');
const isMixed = (text: string): boolean => /\d/.test(text) && /[a-z]/i.test(text);
/** Whether a value is harmless despite its name: `eos_token=</s>`, `API_KEY=None`, `SECRET=***`. */
const isHarmless = (text: string): boolean =>
  /^(?:<.*|\[\w*\]?|\*+|\.+|\$\{?\w+\}?|none|null|nil|true|false|unset|undefined)$/i.test(bare(text));
const isPath = (text: string): boolean => /^[.~]{0,2}\/|\.[a-z]{2,12}$/i.test(text);

export const secretPatterns: readonly SecretPattern[] = [
  // Hugging Face, GitHub, GitLab, Slack, Weights & Biases, Replicate, Stripe.
  {
    pattern:
      /(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|wandb_v1_\w{16,}|r8_[A-Za-z0-9]{30,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})/g,
  },
  // Trainyard's own tokens: for workers, for joining, for users, and for an attempt's uploads.
  { pattern: /(?<![A-Za-z0-9_-])(?:wt|tj|ta|tk|ts)_[A-Za-z0-9_-]{32,}/g },
  { pattern: /(?<![A-Za-z0-9_-])tu_\w{1,80}\.\w{1,80}\.[A-Za-z0-9_-]{16,}/g },
  { pattern: /(?<![A-Za-z0-9+/])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9+/])/g },
  { pattern: /secret_?(?:access_?)?key["']?[ \t]{0,3}[:=][ \t]{0,3}["']?([A-Za-z0-9/+=]{30,})/gi },
  // OpenAI and providers with similar keys, but not an experiment whose name starts with `sk-`.
  {
    pattern: /(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,}/g,
    accept: key => /\d/.test(key) && (/[A-Z]/.test(key) || /[a-z0-9]{32}/.test(key)),
  },
  // JSON Web Tokens: header and claims start with `{"`, which is `eyJ` in base64.
  { pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g },
  { pattern: /hooks\.slack\.com\/services\/([\w/]{20,})/g },
  { pattern: /discord(?:app)?\.com\/api\/webhooks\/([\w/-]{20,})/g },
  // HTTP headers.
  {
    pattern: new RegExp(
      String.raw`authorization["']?${separator}(?:bearer|basic|token)[ \t]{1,3}([^ \t\r\n"',]+)`,
      'gi',
    ),
  },
  { pattern: /(?<![a-z])bearer[ \t]{1,3}([a-z0-9._~+/=-]{16,})/gi, accept: isMixed },
  {
    pattern: new RegExp(String.raw`x-[a-z-]{0,20}(?:token|key)["']?${separator}([^ \t\r\n"',]{8,})`, 'gi'),
  },
  // URLs: the password, a token in place of the user name, or the signature of a link.
  { pattern: /(?<=:\/\/)[^ \t\r\n/@:"'<>]*:([^ \t\r\n/"'<>]+)(?=@)/g },
  { pattern: /(?<=:\/\/)([^ \t\r\n/@:"'<>]{16,})(?=@)/g },
  {
    pattern:
      /[?&](?:access_token|token|api_?key|sig|signature|x-amz-signature|x-amz-security-token)=([^ \t\r\n&"'<>]{8,})/gi,
  },
  // Weights & Biases: 40 hex digits can also be a commit hash, so they count only after "key" or "login".
  { pattern: /wandb[^\r\n]{0,40}?(?:key|login)[^\r\n]{0,20}?(?<![0-9a-f])([0-9a-f]{40})(?![0-9a-f])/gi },
  // Assignments as in a shell.
  {
    pattern: new RegExp(
      String.raw`(?:TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY)=${valuePattern}`,
      'g',
    ),
    accept: text => !isHarmless(text) && !/^\d{1,7}(?:\.\d+)?$/.test(bare(text)),
  },
  {
    pattern: new RegExp(String.raw`passw(?:or)?d[ \t]{0,2}=[ \t]{0,2}${valuePattern}`, 'gi'),
    accept: text => !isHarmless(text),
  },
  // Assignments as in JSON or Python.
  {
    pattern:
      /(?:passw(?:or)?d|secret|api_?key|access_?key|private_?key)["'][ \t]{0,3}:[ \t]{0,3}["']([^"'\r\n]{4,})/gi,
    accept: text => !isHarmless(text),
  },
  // Assignments in any other form, when the value is too long and too mixed to be a word.
  {
    pattern: new RegExp(
      String.raw`(?:token|secret|api[_-]?key|access[_-]?key)["']?${separator}([^ \t\r\n"',;()]{16,})`,
      'gi',
    ),
    accept: text => isMixed(text) && !isHarmless(text) && !isPath(text),
  },
  {
    pattern: /--[\w-]{0,40}(?:token|secret|passw(?:or)?d|api[_-]?key)[ \t]{1,2}["']?([^ \t\r\n"']{8,})/gi,
    accept: text => isMixed(text) && !isHarmless(text) && !isPath(text),
  },
];

/** Whether a text can contain a secret at all. Most lines cannot, and this check is cheaper than all patterns. */
export const mayContainSecret = (text: string): boolean =>
  /token|secret|passw|key|-----BEGIN |bearer|authorization|:\/\/|hf_|api_org_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|wandb|r8_|k_live_|k_test_|(?:wt|tj|ta|tk|ts|tu)_|AKIA|ASIA|sk-|eyJ|hooks\.|discord|[?&]sig/i.test(
    text,
  );
