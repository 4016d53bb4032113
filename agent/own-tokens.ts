import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Loaded } from './loaded.ts';
import { type Fields, fieldsOf, writeWhole } from './whole-file.ts';

/** A worker token that was made on this machine, for a join token, of which the SHA-256 is kept. */
export interface OwnToken {
  readonly joinHash: string;
  readonly token: string;
}

/** `joined` works, as far as is known here; whether `pending` does is not known before the orchestrator has said so. */
export interface OwnTokens {
  readonly joined: OwnToken | null;
  readonly pending: OwnToken | null;
}

/** The file `token` in a state folder; for its owner's eyes only. */
export interface OwnTokenBook {
  /** As it is now; a message when there is something that can't be read: it may hold the only copy of a good token. */
  read(): Loaded<OwnTokens>;
  /** On disk when this returns; throws when that can't be done. */
  keep(tokens: OwnTokens): void;
}

const none: OwnTokens = { joined: null, pending: null };

export function openOwnTokens(stateDir: string): OwnTokenBook {
  const file = join(stateDir, 'token');
  const fail = (why: string) => ({
    ok: false as const,
    message:
      `The token with which this worker has joined could not be read: ${why}. Put that right; or, if it is lost, remove ` +
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

/** Null for what this program has not written. */
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

/** Undefined for what is none, and is not said to be none. */
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
