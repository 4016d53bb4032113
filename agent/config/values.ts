import { restrictedKeys } from '../../protocol/config-policy.ts';
import { NodeAddress } from '../../protocol/worker-nodes.ts';
import { fail, type Loaded } from '../files/failure-text.ts';

const uploadChoices = ['all', 'checkpoints', 'none'] as const;
/** The outputs that the worker uploads. */
export type UploadChoice = (typeof uploadChoices)[number];

/** Parses the orchestrator's URL. Fails when it is missing or is not an http URL. */
export function parseUrl(text: string | null): Loaded<string> {
  const remedy = 'Set --orchestrator-url http://HOST:8001 or SIMPLETUNER_ORCHESTRATOR_URL';
  if (text === null) return fail(`The orchestrator URL is missing. ${remedy}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return fail(`"${text}" is not an http or https URL. ${remedy}`);
  if (url.username !== '' || url.password !== '')
    return fail(
      'The orchestrator URL contains a user name or password. Remove it, because logs and process lists show URLs',
    );
  return { ok: true, value: url.origin + url.pathname.replace(/\/+$/, '') };
}

/** Rejects a token that cannot be sent in a header. Node's own error message would show the token. */
export function checkToken(token: string): Loaded<string> {
  if (/\s/.test(token)) {
    return fail('Invalid token: it contains white space. Copy the worker token again, in one piece');
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    return fail(
      'Invalid token: it contains a character that tokens never contain. Copy the worker token again, as plain text',
    );
  }
  return { ok: true, value: token };
}

/** Parses labels from repeated flags `key=value`, or from an object in the file. */
export function parseLabels(input: unknown): Loaded<Readonly<Record<string, string>>> {
  const list: unknown = typeof input === 'string' ? [input] : input;
  const pairs: readonly (readonly unknown[])[] = Array.isArray(list)
    ? list.map(pair => String(pair).split(/=(.*)/s, 2))
    : Object.entries(typeof list === 'object' && list !== null ? list : {});
  const labels: Record<string, string> = {};
  for (const [key, value] of pairs) {
    if (typeof key !== 'string' || key === '' || typeof value !== 'string') {
      return fail(`"${String(key)}" is not a label. Use --label key=value`);
    }
    labels[key] = value;
  }
  return { ok: true, value: labels };
}

/** Parses GPU indices such as `0,1`. Null when none are given, which means all GPUs. */
export function parseGpus(input: unknown): Loaded<readonly number[] | null> {
  if (input === undefined || input === null) return { ok: true, value: null };
  const parts = typeof input === 'string' ? input.split(',').map(part => part.trim()) : [];
  const valid = parts.length > 0 && parts.every(part => /^\d{1,4}$/.test(part));
  if (valid) return { ok: true, value: [...new Set(parts.map(Number))] };
  return fail(
    `--gpus ${JSON.stringify(input)} is not a list of GPU numbers. Use numbers separated by commas, such as "0,1"`,
  );
}

/** Parses the outputs to upload; `all` when no text is given. */
export function parseUpload(text: string | null): Loaded<UploadChoice> {
  const choice = uploadChoices.find(each => each === (text ?? 'all'));
  if (choice !== undefined) return { ok: true, value: choice };
  return fail(`--upload ${JSON.stringify(text)} is not supported. Use one of: ${uploadChoices.join(', ')}`);
}

const unitBytes: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9, TB: 1e12 };

/** Parses a size in decimal units, as is usual for disks. Returns bytes; null when no size is given. */
export function parseSize(text: string | null): Loaded<number | null> {
  if (text === null) return { ok: true, value: null };
  const [, count, unit = ''] = /^(\d{1,6}(?:\.\d{1,3})?) ?(MB|GB|TB)$/i.exec(text) ?? [];
  const bytes = Number(count) * (unitBytes[unit.toUpperCase()] ?? Number.NaN);
  if (Number.isFinite(bytes)) return { ok: true, value: Math.round(bytes) };
  return fail(`--data-cache ${JSON.stringify(text)} is not a size. Use a size such as 200GB or 1.5TB`);
}

/** Parses config keys from repeated flags with comma-separated keys, or from a list in the file. */
export function parseAllowedKeys(input: unknown): Loaded<readonly string[]> {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input ?? ''];
  const keys = list
    .flatMap(part => String(part).split(','))
    .map(key => key.trim().replace(/^-+/, '').replaceAll('-', '_'))
    .filter(key => key !== '');
  const unknown = keys.find(key => !restrictedKeys.includes(key));
  if (unknown === undefined) return { ok: true, value: [...new Set(keys)].toSorted() };
  return fail(
    `--allow-config-scripts ${JSON.stringify(unknown)} is not a restricted key. Use one of: ${restrictedKeys.join(', ')}`,
  );
}

/** Checks a host name or an IP address without a port. Null when none is given. */
export function parseNodeAddress(text: string | null): Loaded<string | null> {
  if (text === null || NodeAddress.safeParse(text).success) return { ok: true, value: text };
  return fail(
    `--node-address ${JSON.stringify(text)} is not an address. Use a host name or an IP address, without a port`,
  );
}

/** Whether a setting is on: true, or one of the texts `true`, `1` and `yes`. */
export const isTrue = (value: unknown): boolean =>
  value === true || (typeof value === 'string' && /^(true|1|yes)$/i.test(value));
