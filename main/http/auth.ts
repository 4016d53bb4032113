import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { type Call, type Reach, reachOf } from '../../protocol/call.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import { joinTokenPrefix } from '../../protocol/worker-api.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import { uploadTokenHeaders } from '../../protocol/storage-api.ts';
import { type Principal, unknownJoinToken, type Uploader } from '../orchestrator/index.ts';
import { sentAs } from './heads.ts';
import { isOwnPage } from './origin.ts';

/**
 * Who calls: nobody in particular, a worker, a machine that is to be one, a trainer, or a person or script by the name of their
 * token, and what they may.
 */
export type Caller =
  | { readonly kind: 'anybody' }
  | { readonly kind: 'worker'; readonly id: WorkerId }
  /** A machine with a join token, by the hash of that. */
  | { readonly kind: 'joiner'; readonly hash: string }
  | { readonly kind: 'uploader'; readonly uploader: Uploader }
  /** `reach`: whether this call is about every job, or about those of its own token only. */
  | { readonly kind: 'bearer'; readonly principal: Principal; readonly reach: Exclude<Reach, 'none'> };

/**
 * Where a browser keeps what it has signed in with. One that came over TLS has a name that nobody can set without, and is another
 * one: a browser takes none of the same name in its place once the same address is called without.
 */
export const sessionCookie = (request: IncomingMessage): string =>
  schemeOf(request) === 'https' ? '__Host-trainyard_session' : 'trainyard_session';

export interface AuthParts {
  /** By the hash of their token; null for none, or one that is over. */
  readonly principalByTokenHash: (hash: string) => Principal | null;
  /** Of the session whose token has this hash; null for none, or one that is over. */
  readonly principalBySessionHash: (hash: string) => Principal | null;
  readonly admin: Principal;
  /** SHA-256 of the admin token that is valid now. */
  readonly adminHash: () => Buffer;
  readonly workerByTokenHash: (hash: string) => WorkerId | null;
  /** Whether there is such a join token, used or not. */
  readonly knowsJoinToken: (hash: string) => boolean;
  /** Whose upload token it is; null when it is none. */
  readonly uploaderOf: (token: string) => Uploader | null;
  readonly mayUpload: (uploader: Uploader) => Outcome<unknown>;
}

export interface Auth {
  readonly authenticate: Authenticate;
  /** Whose bearer token this is; null when it is none. */
  principalOf(token: string): Principal | null;
}

export type Authenticate = (
  request: IncomingMessage,
  row: Pick<Call, 'authority' | 'own'>,
) => Outcome<Caller>;

/** Longer ones are not hashed: no token of ours is. */
const longestToken = 512;

/**
 * Workers carry `X-Worker-Token`, people and scripts `Authorization: Bearer`. Tokens are compared by their SHA-256:
 * what is compared is of one length and tells nothing, and the worker's is looked up by it.
 */
export function createAuth(parts: AuthParts): Auth {
  const { workerByTokenHash, principalByTokenHash, principalBySessionHash, adminHash } = parts;
  const principalOf = (token: string): Principal | null => {
    if (!wellFormed(token)) return null;
    const hash = hashOf(token);
    return timingSafeEqual(hash, adminHash()) ? parts.admin : principalByTokenHash(hash.toString('hex'));
  };

  const { asWorker, asJoiner } = createMachineAuth(parts);
  const asUploader = createUploadAuth(parts);
  const asBearer = (request: IncomingMessage): Outcome<Principal> => {
    const token = bearerOf(request);
    if (token === null && request.headers['x-worker-token'] === undefined) {
      const session = sessionOf(request);
      if (session !== null) return asBrowser(request, session);
    }
    if (token === null) {
      return request.headers['x-worker-token'] === undefined
        ? refuse('token_missing', 'Send a token in the header Authorization: Bearer')
        : refuse(
            'wrong_token_kind',
            'This call is for people: send Authorization: Bearer, not a worker token',
          );
    }
    const principal = principalOf(token);
    if (principal !== null) return accept(principal);
    if (wellFormed(token) && workerByTokenHash(hashOf(token).toString('hex')) !== null) {
      return refuse('wrong_token_kind', 'This call is for people: a worker token does not open it');
    }
    return refuse(
      'token_invalid',
      'Invalid token: it may have expired, or been revoked; the admin token is in the file admin-token of the data folder',
    );
  };

  const asBrowser = (request: IncomingMessage, token: string): Outcome<Principal> => {
    if (!isOwnPage(request))
      return refuse('cross_site', 'This call comes from a page of another site: open the panel itself');
    const principal = principalBySessionHash(hashOf(token).toString('hex'));
    return principal === null
      ? refuse('token_invalid', 'You are signed out: sign in again')
      : accept(principal);
  };

  return {
    principalOf,
    authenticate(request, row) {
      const { authority } = row;
      if (authority === 'open') return accept({ kind: 'anybody' });
      if (authority === 'worker') return asWorker(request);
      if (authority === 'join') return asJoiner(request);
      if (authority === 'upload') return asUploader(request);
      const principal = asBearer(request);
      return principal.ok ? permitted(principal.value, row) : principal;
    },
  };
}

/** Rigs: those that are workers, and those that are to become one. */
function createMachineAuth({
  workerByTokenHash,
  knowsJoinToken,
}: Pick<AuthParts, 'workerByTokenHash' | 'knowsJoinToken'>) {
  const asWorker = (request: IncomingMessage): Outcome<Caller> => {
    const shown = machineToken(request, 'worker', 'This call is for workers');
    if (!shown.ok) return shown;
    const { token, hash } = shown.value;
    const id = hash === null ? null : workerByTokenHash(hash);
    if (id !== null) return accept({ kind: 'worker', id });
    return refuse(
      'token_invalid',
      token.startsWith(joinTokenPrefix)
        ? "Invalid token: a join token is not a worker token. This worker program cannot join with one: update it, or give it the worker's token"
        : 'Invalid token: it may have been rotated, or its worker deleted; ask for a new one',
    );
  };

  const asJoiner = (request: IncomingMessage): Outcome<Caller> => {
    const shown = machineToken(request, 'join', 'This call is for machines that are to be workers');
    if (!shown.ok) return shown;
    const { hash } = shown.value;
    if (hash !== null && knowsJoinToken(hash)) return accept({ kind: 'joiner', hash });
    return hash !== null && workerByTokenHash(hash) !== null
      ? refuse('wrong_token_kind', 'This call is for join tokens: a worker token has joined already')
      : unknownJoinToken;
  };
  return { asWorker, asJoiner };
}

interface MachineToken {
  readonly token: string;
  /** Null when no token of ours looks like that. */
  readonly hash: string | null;
}

/** What a rig shows itself by, of either kind: in a header of its own, and never as a bearer. */
function machineToken(
  request: IncomingMessage,
  kind: 'worker' | 'join',
  callIsFor: string,
): Outcome<MachineToken> {
  const shown = request.headers['x-worker-token'];
  if (shown === undefined) {
    return bearerOf(request) === null
      ? refuse('token_missing', `Send the ${kind} token in the header X-Worker-Token`)
      : refuse('wrong_token_kind', `${callIsFor}: send a ${kind} token in the header X-Worker-Token`);
  }
  const token = String(shown);
  const isOne = typeof shown === 'string' && wellFormed(token);
  return accept({ token, hash: isOne ? hashOf(token).toString('hex') : null });
}

/** Trainers: whatever worker has started them. */
function createUploadAuth({ uploaderOf, mayUpload }: Pick<AuthParts, 'uploaderOf' | 'mayUpload'>) {
  return (request: IncomingMessage): Outcome<Caller> => {
    const token = uploadTokenOf(request);
    if (token === null) {
      return bearerOf(request) === null && request.headers['x-worker-token'] === undefined
        ? refuse('token_missing', 'Send the upload token of the attempt in the header X-Upload-Token')
        : refuse(
            'wrong_token_kind',
            'This call is for trainers: send the upload token of their attempt in the header X-Upload-Token',
          );
    }
    const uploader = wellFormed(token) ? uploaderOf(token) : null;
    if (uploader === null)
      return refuse('token_invalid', 'Invalid token: it is not the upload token of an attempt');
    const may = mayUpload(uploader);
    return may.ok ? accept({ kind: 'uploader', uploader }) : may;
  };
}

/** In one of its headers, or the same in both; what is sent twice is none of ours. */
export function uploadTokenOf({ headers }: IncomingMessage): string | null {
  const sent = uploadTokenHeaders.map(name => headers[name]).filter(value => value !== undefined);
  return sent.length === 0 ? null : [...new Set(sent.map(String))].join(', ');
}

/** Behind a call that needs an upload token stands an attempt. */
export function uploaderBehind(caller: Caller): Uploader {
  if (caller.kind !== 'uploader') throw new Error('an upload came without its token');
  return caller.uploader;
}

/** Behind a call that needs a permission stands somebody who has it. */
export function principalBehind(caller: Caller): Principal {
  if (caller.kind !== 'bearer') throw new Error('an admin call came without a bearer');
  return caller.principal;
}

function permitted(principal: Principal, row: Pick<Call, 'authority' | 'own'>): Outcome<Caller> {
  const reach = reachOf(principal.permissions, row);
  if (reach !== 'none') return accept({ kind: 'bearer', principal, reach });
  const own =
    row.own === undefined || row.own === 'refused' ? '' : `, or ${row.authority}.own for its own jobs`;
  return refuse(
    'permission_missing',
    `This call needs the permission ${row.authority}${own}; the token ${principal.user} has ${principal.permissions.join(', ')}`,
  );
}

/** In one call: an object to hash with would outlive each of them by a round of the garbage collector. */
export const hashOf = (token: string): Buffer => digestOf('sha256', token, 'buffer');

const wellFormed = (token: string): boolean => token.length <= longestToken && /^[\x21-\x7e]+$/.test(token);

/** The session's token in the cookie; null when there is none. */
export function sessionOf(request: IncomingMessage): string | null {
  const cookies = (request.headers.cookie ?? '').split(';').map(part => part.trim());
  const name = sessionCookie(request);
  const token = cookies.find(part => part.startsWith(`${name}=`))?.slice(name.length + 1);
  return token !== undefined && wellFormed(token) ? token : null;
}

/** What a call tried to show itself by, of whatever kind; null when it tried nothing. */
export function secretOf(request: IncomingMessage): string | null {
  const machine = request.headers['x-worker-token'] ?? uploadTokenOf(request) ?? undefined;
  return bearerOf(request) ?? (machine === undefined ? sessionOf(request) : String(machine));
}

/**
 * What the caller has spoken, be it with a proxy: who lies about that is answered with an address, or a cookie, that is of no
 * use to them, and nobody else is.
 */
export const schemeOf = (request: IncomingMessage): 'http' | 'https' =>
  request.socket instanceof TLSSocket || request.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';

/**
 * The token of the header, or null when there is none of that scheme. Two headers are no token: a proxy in between may have
 * looked at the other one.
 */
export function bearerOf(request: IncomingMessage): string | null {
  if (request.headers.authorization === undefined) return null;
  const [, token] = /^bearer +(.*)$/i.exec(sentAs(request, 'authorization').join(', ')) ?? [];
  return token ?? null;
}
