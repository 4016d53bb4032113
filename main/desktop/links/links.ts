/** The `trainyard://` links. Any web page can open one, so no link changes anything before the user has agreed. */
import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { isSecretName } from '../../../protocol/secret-names.ts';
import { parseFleetAddress } from '../../gateway.ts';

export const scheme = 'trainyard';

export type Link =
  /** Shows a page of the panel. */
  | { readonly kind: 'page'; readonly page: string }
  /** Offers to add a fleet. `pin` is empty for none. */
  | { readonly kind: 'join'; readonly url: string; readonly pin: string }
  /** A refused link to a fleet: it contains a token, or is not valid. */
  | { readonly kind: 'refused'; readonly problem: 'token' | 'invalid' };

/** Parses a link. Returns null for a text that is not a link of the app. */
export function parseLink(link: string): Link | null {
  if (/^trainyard:\/\/join\/?\?/i.test(link)) return parseJoin(link);
  const page = pageOfLink(link);
  return page === null ? null : { kind: 'page', page };
}

const targets = { job: { id: JobId, page: '/jobs' }, worker: { id: WorkerId, page: '/workers' } } as const;

/** Pages that users can open from the taskbar or dock menu, by the name in the link. */
export const shortcutPages = { 'new-job': '/jobs/new', jobs: '/jobs', workers: '/workers' } as const;
export type Shortcut = keyof typeof shortcutPages;

export const shortcutLink = (name: Shortcut): string => `${scheme}://open/${name}`;

function pageOfLink(link: string): string | null {
  const [, name, id] = /^trainyard:\/\/(job|worker|open)\/([^/?#]+)\/?$/i.exec(link) ?? [];
  const kind = name?.toLowerCase();
  if (id === undefined) return null;
  if (kind === 'open') return Object.entries(shortcutPages).find(([page]) => page === id)?.[1] ?? null;
  if (kind !== 'job' && kind !== 'worker') return null;
  const { id: schema, page } = targets[kind];
  const parsed = schema.safeParse(id);
  return parsed.success ? `${page}/${parsed.data}` : null;
}

/** Maximum lengths of a link and of the address in it, in characters. */
const maxLink = 1_000;
const maxAddress = 500;
const refused = (problem: 'token' | 'invalid'): Link => ({ kind: 'refused', problem });

/** Parses `trainyard://join?address=...&pin=...`. Refuses links with a token, because links end up in histories and chats. */
function parseJoin(link: string): Link {
  if (link.length > maxLink) return refused('invalid');
  // Programs often do not escape the `+` of a pin. URLSearchParams would read it as a space, which no value contains.
  const query = [...new URLSearchParams(link.slice(link.indexOf('?')).replaceAll('+', '%2B'))];
  const isToken = ([name, value]: readonly [string, string]): boolean =>
    isSecretName(name) || /(?:^|\W)(?:tj|tk|ts|wt)_[\w-]{16,}|\bbearer\b/i.test(value);
  if (query.some(isToken) || hasCredentials(query)) return refused('token');
  const names = query.map(([name]) => name);
  const areKnown = names.every(name => name === 'address' || name === 'pin');
  if (!areKnown || new Set(names).size !== names.length) return refused('invalid');
  const { address = '', pin } = Object.fromEntries(query);
  // An address with other characters could look like another address in the question to the user.
  if (address.length > maxAddress || !/^https?:\/\/[\x21-\x7e]+$/i.test(address)) return refused('invalid');
  if (pin !== undefined && !/^sha256:[A-Za-z\d+/]{43}=$/.test(pin)) return refused('invalid');
  const parsed = parseFleetAddress({ url: address, pin: pin ?? null });
  return parsed.ok ? { kind: 'join', url: parsed.value.url, pin: pin ?? '' } : refused('invalid');
}

/** Returns true if an address among the values contains a user name or a password. */
const hasCredentials = (query: readonly (readonly [string, string])[]): boolean =>
  query.some(([, value]) => URL.canParse(value) && new URL(value).username + new URL(value).password !== '');

/**
 * Finds a link in the command-line arguments; null for none. The operating system puts links after `--`. If an earlier version
 * registered the app, there is no `--`. All arguments are then searched, because `indexOf` returns -1.
 */
export const linkAmong = (args: readonly string[]): string | null =>
  args.slice(args.indexOf('--') + 1).find(arg => arg.toLowerCase().startsWith(`${scheme}://`)) ?? null;
