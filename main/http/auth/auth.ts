import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { type Call, type Reach, reachOf } from '../../../protocol/call.ts';
import { JobId, type WorkerId } from '../../../protocol/ids.ts';
import { joinTokenPrefix } from '../../../protocol/worker-api.ts';
import { accept, type Outcome, type Refusal, refuse } from '../../../protocol/problem.ts';
import { type Principal, unknownJoinToken, type Uploader } from '../../orchestrator/index.ts';
import { bearerOf, isOwnPage, isWellFormed, sessionOf, uploadTokenOf } from './sender.ts';

/**
 * The sender of a request: an unauthenticated client, a worker, a machine that joins, a trainer, or the owner of a bearer token
 * with its permissions.
 */
export type Caller =
  | { readonly kind: 'anybody' }
  | { readonly kind: 'worker'; readonly id: WorkerId }
  /** A machine with a join token. `hash` is the SHA-256 of the token. */
  | { readonly kind: 'joiner'; readonly hash: string }
  | { readonly kind: 'uploader'; readonly uploader: Uploader }
  /** `reach` is `all` if the call may access every job, and `own` if it may only access jobs of its own token. */
  | { readonly kind: 'bearer'; readonly principal: Principal; readonly reach: Exclude<Reach, 'none'> };

export interface AuthDeps {
  /** Returns the principal whose token has this hash; null when the token is unknown or expired. */
  readonly principalByTokenHash: (hash: string) => Principal | null;
  /** Returns the principal of the session with this hash; null when the session is unknown or expired. */
  readonly principalBySessionHash: (hash: string) => Principal | null;
  readonly admin: Principal;
  /** Returns the SHA-256 of the current admin token. */
  readonly adminHash: () => Buffer;
  readonly workerByTokenHash: (hash: string) => WorkerId | null;
  /** Returns true if this join token exists, whether it was used or not. */
  readonly knowsJoinToken: (hash: string) => boolean;
  /** Returns the attempt for which this upload token was issued; null when the token is unknown. */
  readonly uploaderOf: (token: string) => Uploader | null;
  readonly mayUpload: (uploader: Uploader) => Outcome<unknown>;
}

export interface Auth {
  readonly authenticate: Authenticate;
  /** Returns the owner of this bearer token; null when the token is unknown. */
  principalOf(token: string): Principal | null;
}

export type Authenticate = (
  request: IncomingMessage,
  row: Pick<Call, 'authority' | 'own'>,
) => Outcome<Caller>;

/**
 * Authenticates requests. Workers send `X-Worker-Token`; people and scripts send `Authorization: Bearer`. The server compares the
 * SHA-256 hashes of tokens: they have equal length, and the time of a comparison reveals nothing about the token.
 */
export function createAuth(deps: AuthDeps): Auth {
  const { workerByTokenHash, principalByTokenHash, principalBySessionHash, adminHash } = deps;
  const principalOf = (token: string): Principal | null => {
    if (!isWellFormed(token)) return null;
    const hash = hashOf(token);
    return timingSafeEqual(hash, adminHash()) ? deps.admin : principalByTokenHash(hash.toString('hex'));
  };

  const { asWorker, asJoiner } = createMachineAuth(deps);
  const asUploader = createUploadAuth(deps);
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
    if (isWellFormed(token) && workerByTokenHash(hashOf(token).toString('hex')) !== null) {
      return refuse('wrong_token_kind', 'This call is for people: worker tokens are not accepted');
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

/** Authenticates workers and machines that join. */
function createMachineAuth({
  workerByTokenHash,
  knowsJoinToken,
}: Pick<AuthDeps, 'workerByTokenHash' | 'knowsJoinToken'>) {
  const asWorker = (request: IncomingMessage): Outcome<Caller> => {
    const presented = machineToken(request, 'worker', 'This call is for workers');
    if (!presented.ok) return presented;
    const { token, hash } = presented.value;
    const id = hash === null ? null : workerByTokenHash(hash);
    if (id !== null) return accept({ kind: 'worker', id });
    return refuse(
      'token_invalid',
      token.startsWith(joinTokenPrefix)
        ? "Invalid token: a join token is not a worker token. This worker program cannot join with one: update it, or give it the worker's token"
        : 'Invalid token: it may have been rotated, or its worker deleted; use the current one',
    );
  };

  const asJoiner = (request: IncomingMessage): Outcome<Caller> => {
    const presented = machineToken(request, 'join', 'This call is for machines that join as workers');
    if (!presented.ok) return presented;
    const { hash } = presented.value;
    if (hash !== null && knowsJoinToken(hash)) return accept({ kind: 'joiner', hash });
    return hash !== null && workerByTokenHash(hash) !== null
      ? refuse('wrong_token_kind', 'This call is for join tokens: this worker has already joined')
      : unknownJoinToken;
  };
  return { asWorker, asJoiner };
}

interface MachineToken {
  readonly token: string;
  /** Null when the token is malformed. */
  readonly hash: string | null;
}

/** Reads a worker token or a join token from its own header. These tokens are never accepted as bearer tokens. */
function machineToken(
  request: IncomingMessage,
  kind: 'worker' | 'join',
  purpose: string,
): Outcome<MachineToken> {
  const header = request.headers['x-worker-token'];
  if (header === undefined) {
    return bearerOf(request) === null
      ? refuse('token_missing', `Send the ${kind} token in the header X-Worker-Token`)
      : refuse('wrong_token_kind', `${purpose}: send a ${kind} token in the header X-Worker-Token`);
  }
  const token = String(header);
  const isValid = typeof header === 'string' && isWellFormed(token);
  return accept({ token, hash: isValid ? hashOf(token).toString('hex') : null });
}

/** Authenticates trainers by their upload tokens. */
function createUploadAuth({ uploaderOf, mayUpload }: Pick<AuthDeps, 'uploaderOf' | 'mayUpload'>) {
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
    const uploader = isWellFormed(token) ? uploaderOf(token) : null;
    if (uploader === null)
      return refuse('token_invalid', 'Invalid token: it is not the upload token of an attempt');
    const may = mayUpload(uploader);
    return may.ok ? accept({ kind: 'uploader', uploader }) : may;
  };
}

/** Returns the attempt of the caller's upload token. Throws when the route does not require an upload token. */
export function uploaderBehind(caller: Caller): Uploader {
  if (caller.kind !== 'uploader') throw new Error('the route does not require an upload token');
  return caller.uploader;
}

/** Returns the principal of an authenticated call. Throws when the route requires no permission. */
export function principalBehind(caller: Caller): Principal {
  if (caller.kind !== 'bearer') throw new Error('the route requires no permission');
  return caller.principal;
}

/** Returns true if a response to this caller may name workers. */
export const maySeeWorkers = (caller: Caller): boolean =>
  principalBehind(caller).permissions.includes('admin.workers');

function permitted(principal: Principal, row: Pick<Call, 'authority' | 'own'>): Outcome<Caller> {
  const reach = reachOf(principal.permissions, row);
  if (reach !== 'none') return accept({ kind: 'bearer', principal, reach });
  const alternative =
    row.own === undefined || row.own === 'refused' ? '' : `, or ${row.authority}.own for its own jobs`;
  return refuse(
    'permission_missing',
    `This call needs the permission ${row.authority}${alternative}; the token ${principal.user} has ${principal.permissions.join(', ')}`,
  );
}

/** Returns the SHA-256 of a token. A `Hash` object per request would stay in memory until the next garbage collection. */
export const hashOf = (token: string): Buffer => digestOf('sha256', token, 'buffer');

/** Returns the owner of a job, which is the name of a token; null when the job does not exist. */
export type OwnerOf = (id: JobId) => string | null;

/**
 * Refuses the jobs of other users to tokens with `.own` permissions. All calls use this function. Returns null when the request
 * may continue. A caller who may view all jobs gets a refusal with the owner's name; for all others the job does not exist.
 */
export function refuseForeignJob(
  row: Pick<Call, 'authority' | 'own'>,
  params: unknown,
  caller: Caller,
  ownerOf: OwnerOf,
): Refusal | null {
  const user = onlyUserOf(caller);
  if (user === null || row.own !== 'job' || caller.kind !== 'bearer') return null;
  const id = jobIn(params);
  const owner = ownerOf(id);
  if (owner === user) return null;
  if (owner === null || !caller.principal.permissions.includes('queue.view'))
    return refuse('job_not_found', `There is no job ${id}`).refusal;
  return refuse(
    'permission_missing',
    `Job ${id} belongs to ${owner}. The token ${user} has ${row.authority}.own, which covers its own jobs only; jobs of others need ${row.authority}`,
  ).refusal;
}

/** Returns the user to whose jobs this call is limited; null for no limit. */
export const onlyUserOf = (caller: Caller): string | null =>
  caller.kind === 'bearer' && caller.reach === 'own' ? caller.principal.user : null;

const JobParams = z.object({ id: JobId });

/** Returns the job id of a call whose `own` rule is `job`. A test checks that each such call has the parameter `id`. */
const jobIn = (params: unknown): JobId => JobParams.parse(params).id;
