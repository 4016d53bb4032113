import { type FlatConfig, flatten } from '../../../protocol/compare-configs.ts';
import { cutTo, limits, toMlflowNames } from './limits.ts';

/** A param or tag of a run. */
export interface Pair {
  readonly key: string;
  readonly value: string;
}

const masked = '[hidden]';

/** Matches keys of secrets by their last word: `hub_token` and `wandb_api_key`, but not `max_token_length`. */
const secretKey =
  /(?:^|[_.-])(?:tokens?|secrets?|password|passwd|passphrase|api_?key|access_?key|secret_?key|private_?key|credentials?|authorization|auth|webhook(?:_?url)?|cookie)$/;
/** Patterns for tokens of known services, keys of cloud storage, and user and password in URLs. */
const secretValues = [
  /\b(?:hf_|api_org_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|wandb_v1_|r8_|[sr]k[-_]|(?:wt|tj|ta|tk|ts|tu)_)[\w.-]{16,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/g,
  /(?<=:\/\/)[^\s/@"'<>]{1,500}(?=@)/g,
  /(?<=[?&](?:access_token|token|api_?key|sig|signature|x-amz-signature|x-amz-security-token)=)[^\s&"'<>]{1,2000}/gi,
  /(?<=hooks\.slack\.com\/services\/|discord(?:app)?\.com\/api\/webhooks\/)[\w/-]{8,}/g,
];

/** Converts a key such as `hubToken` or `HUB_TOKEN` to the form that `secretKey` matches. */
const plainKey = (path: string): string => path.replaceAll(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase();

function isSecretPath(path: string): boolean {
  const names = path.split('.');
  // Test each ancestor too: everything below `credentials` is secret, and so are the items `tokens.0` and `tokens.1` of a list.
  return names.some((_, at) => secretKey.test(plainKey(names.slice(0, at + 1).join('.'))));
}

/** Returns a config value as text, with secrets masked. */
function paramText(path: string, value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  const isEmpty = value === null || value === '' || typeof value === 'boolean' || typeof value === 'number';
  if (!isEmpty && isSecretPath(path)) return masked;
  return secretValues.reduce((shown, pattern) => shown.replaceAll(pattern, masked), text);
}

/** Converts the config of a job to the params of a run, with secrets masked. */
export function toParams(config: unknown, dataloader: unknown): readonly Pair[] {
  const loader: FlatConfig = dataloader === null ? new Map() : flatten({ dataloader });
  const flat = new Map([...flatten(config), ...loader]);
  const names = toMlflowNames([...flat.keys()]);
  return [...flat].map(([path, value]) => ({
    key: names.get(path) ?? path,
    value: cutTo(paramText(path, value), limits.paramValue),
  }));
}
