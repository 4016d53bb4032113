import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Authority } from '../../protocol/call.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';

/** Who calls: nobody in particular, a worker, or a person or script by the name of their token. */
export type Caller =
  | { readonly kind: 'anybody' }
  | { readonly kind: 'worker'; readonly id: WorkerId }
  | { readonly kind: 'bearer'; readonly actor: string };

export interface AuthParts {
  readonly adminToken: string;
  readonly workerByTokenHash: (hash: string) => WorkerId | null;
}

export type Authenticate = (request: IncomingMessage, authority: Authority) => Outcome<Caller>;

/** Longer ones are not hashed: no token of ours is. */
const longestToken = 512;

/**
 * Workers carry `X-Worker-Token`, people and scripts `Authorization: Bearer`. Tokens are compared by their SHA-256:
 * what is compared is of one length and tells nothing, and the worker's is looked up by it.
 */
export function createAuth({ adminToken, workerByTokenHash }: AuthParts): Authenticate {
  const adminHash = hashOf(adminToken);

  const asWorker = (request: IncomingMessage): Outcome<Caller> => {
    const token = request.headers['x-worker-token'];
    if (token === undefined) {
      return bearerOf(request) === null
        ? refuse('token_missing', 'Send the worker token in the header X-Worker-Token')
        : refuse(
            'wrong_token_kind',
            'This call is for workers: send a worker token in the header X-Worker-Token',
          );
    }
    const id =
      typeof token === 'string' && wellFormed(token)
        ? workerByTokenHash(hashOf(token).toString('hex'))
        : null;
    if (id !== null) return accept({ kind: 'worker', id });
    return refuse(
      'token_invalid',
      'Invalid token: it may have been rotated, or its worker deleted; ask for a new one',
    );
  };

  const asBearer = (request: IncomingMessage): Outcome<Caller> => {
    const token = bearerOf(request);
    if (token === null) {
      return request.headers['x-worker-token'] === undefined
        ? refuse('token_missing', 'Send a token in the header Authorization: Bearer')
        : refuse(
            'wrong_token_kind',
            'This call is for people: send Authorization: Bearer, not a worker token',
          );
    }
    if (wellFormed(token) && timingSafeEqual(hashOf(token), adminHash))
      return accept({ kind: 'bearer', actor: 'admin' });
    if (wellFormed(token) && workerByTokenHash(hashOf(token).toString('hex')) !== null) {
      return refuse('wrong_token_kind', 'This call is for people: a worker token does not open it');
    }
    return refuse(
      'token_invalid',
      'Invalid token: the admin token is in the file admin-token of the data folder',
    );
  };

  return (request, authority) => {
    if (authority === 'open') return accept({ kind: 'anybody' });
    return authority === 'worker' ? asWorker(request) : asBearer(request);
  };
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

const wellFormed = (token: string): boolean => token.length <= longestToken && /^[\x21-\x7e]+$/.test(token);

/** Where a call comes from, as the socket says. */
export const addressOf = (request: IncomingMessage): string | null => request.socket.remoteAddress ?? null;

/** The token of the header, or null when there is none of that scheme. */
export function bearerOf(request: IncomingMessage): string | null {
  const [, token] = /^bearer +(.*)$/i.exec(request.headers.authorization ?? '') ?? [];
  return token ?? null;
}
