import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readToken, type TokenSource } from '../config/index.ts';
import type { Loaded } from '../files/failure-text.ts';
import { type Fields, fieldsOf, writeWhole } from '../files/whole-file.ts';

/** The token that the worker was given, as last read: a worker token or a join token. */
export interface GivenToken {
  current(): string;
  /** Reads the token again. Returns true when it has changed. */
  reload(): boolean;
  /** File in which a new token can appear; null for a token that was given as text. */
  readonly file: string | null;
}

/** The token that the worker uses for its calls. */
export interface TokenHolder extends GivenToken {
  /** The worker token; empty until `ready` has succeeded for the first time. */
  current(): string;
  /** Exchanges a given join token for a worker token, unless that has been done. */
  ready(signal: AbortSignal): Promise<Ready>;
  /** Whether the worker token was made on this machine and exists nowhere else. */
  isOwn(): boolean;
}

export type Ready =
  | { readonly kind: 'ready' }
  /** The join token is invalid. */
  | { readonly kind: 'rejected'; readonly message: string }
  /** The orchestrator permanently refuses to let this worker join. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'aborted' };

/** Reads the token. Fails when it cannot be read. A later failure to reload keeps the earlier token. */
export function openToken(source: TokenSource): Loaded<GivenToken> {
  const first = readToken(source);
  if (!first.ok) return first;
  let token = first.value;
  return {
    ok: true,
    value: {
      current: () => token,
      reload() {
        const again = readToken(source);
        if (!again.ok || again.value === token) return false;
        token = again.value;
        return true;
      },
      file: source.kind === 'file' ? source.path : null,
    },
  };
}

/** Returns a holder for a token that is already a worker token. */
export const holdWorkerToken = (given: GivenToken): TokenHolder => ({
  ...given,
  ready: async () => ({ kind: 'ready' }),
  isOwn: () => false,
});

/** A worker token that this machine made in exchange for a join token. `joinHash` is the SHA-256 of the join token. */
export interface OwnToken {
  readonly joinHash: string;
  readonly token: string;
}

/** `joined`: the orchestrator has accepted this token. `pending`: the orchestrator has not confirmed it yet. */
interface OwnTokens {
  readonly joined: OwnToken | null;
  readonly pending: OwnToken | null;
}

/** The file `token` in a state folder, readable only by its owner. */
export interface OwnTokenBook {
  /**
   * Fails with a message when the file exists but is unreadable, because it may contain the only copy of a valid token.
   */
  read(): Loaded<OwnTokens>;
  /** Writes the tokens, which are on disk when this returns. Throws when they cannot be written. */
  keep(tokens: OwnTokens): void;
}

const none: OwnTokens = { joined: null, pending: null };

export function openOwnTokens(stateDir: string): OwnTokenBook {
  const file = join(stateDir, 'token');
  const fail = (why: string) => ({
    ok: false as const,
    message:
      `The token with which this worker has joined could not be read: ${why}. Correct that. If the token is lost, remove ` +
      `${file}, and make a new join command on the orchestrator`,
  });
  return {
    read() {
      let text: string;
      try {
        text = readFileSync(file, 'utf8');
      } catch (cause) {
        if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')
          return { ok: true, value: none };
        return fail(cause instanceof Error ? cause.message : String(cause));
      }
      const tokens = parse(text);
      return tokens === null ? fail(`${file} is damaged`) : { ok: true, value: tokens };
    },
    keep({ joined, pending }) {
      mkdirSync(stateDir, { recursive: true, mode: 0o700 });
      writeWhole(
        file,
        JSON.stringify({ joined: joined && fieldsFor(joined), pending: pending && fieldsFor(pending) }),
      );
    },
  };
}

const fieldsFor = ({ joinHash, token }: OwnToken) => ({ join_sha256: joinHash, token });

/** Returns null for text that this program did not write. */
function parse(text: string): OwnTokens | null {
  let fields: Fields | null;
  try {
    fields = fieldsOf(JSON.parse(text));
  } catch {
    return null;
  }
  const joined = ownToken(fields?.['joined']);
  const pending = ownToken(fields?.['pending']);
  return joined === undefined || pending === undefined ? null : { joined, pending };
}

/** Returns null when there is explicitly no token, and undefined for an invalid value. */
function ownToken(value: unknown): OwnToken | null | undefined {
  if (value === null) return null;
  const { join_sha256: joinHash, token } = fieldsOf(value) ?? {};
  const isWhole =
    typeof joinHash === 'string' &&
    /^[0-9a-f]{64}$/.test(joinHash) &&
    typeof token === 'string' &&
    /^wt_[\w-]{43}$/.test(token);
  return isWhole ? { joinHash, token } : undefined;
}
