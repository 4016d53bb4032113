import type { Request } from 'express';
import { workersApi } from '../../../protocol/admin-api.ts';
import { joinLine, shortLine, updateLine, workerArguments } from '../../../protocol/join-line.ts';
import { version } from '../../../protocol/version.ts';
import { accept } from '../../../protocol/problem.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { workerUpdatesApi } from '../../../protocol/worker-updates-api.ts';
import type { IssuedToken, Orchestrator } from '../../orchestrator/index.ts';
import type { Actor } from '../../orchestrator/ports/index.ts';
import { type Caller, principalBehind } from '../auth/auth.ts';
import { addressOf, schemeOf } from '../auth/sender.ts';
import type { Router } from './route.ts';

export const actorOf = (caller: Caller, request: Request): Actor =>
  personAt(principalBehind(caller).user, request);

/** Returns an actor for the audit trail. `id` is the name of the token. */
export const personAt = (id: string, request: Request): Actor => ({
  type: 'admin',
  id,
  address: addressOf(request),
});

/**
 * Returns the URL for workers. `called` is the URL of this request. `pin` is the hash of the server's key; null when TLS is off,
 * a proxy provides TLS, or the worker's system trusts the certificate anyway.
 */
export type JoinAddress = (called: string) => { readonly url: string; readonly pin: string | null };

export interface WorkerAdminDeps {
  readonly orchestrator: Orchestrator;
  readonly joinAddress: JoinAddress;
  /** Returns the SHA-256 of the install script; null when no worker program was built. */
  readonly scriptHash: () => Promise<string | null>;
  /** Returns the SHA-256 of SHA256SUMS; null when no worker program was built. */
  readonly sumsHash: () => Promise<string | null>;
  /** Reads the worker programs again, because a build may have replaced them. */
  readonly refreshPrograms: () => Promise<void>;
}

export function mountWorkerAdminRoutes(router: Router, deps: WorkerAdminDeps): void {
  const { orchestrator, joinAddress, scriptHash } = deps;
  mountUpdateRoutes(router, deps);
  const issuedReply = (issued: IssuedToken, request: Request) =>
    replyFor(issued, joinAddress(calledUrl(request)));
  router.answer(workersApi.list, ({ query }) => {
    const { status_filter: status, limit, cursor = null } = query;
    const as_of_seq = orchestrator.lifecycle.lastSeq();
    if (limit === undefined) {
      const workers = [...orchestrator.workers.list(status)];
      return accept({ workers, total: workers.length, next_cursor: null, as_of_seq });
    }
    const { workers, next } = orchestrator.workers.page(cursor, limit, status);
    return accept({ workers: [...workers], total: workers.length, next_cursor: next, as_of_seq });
  });
  router.answer(workersApi.create, async ({ body, caller, request }) =>
    accept(issuedReply(await orchestrator.workers.create(body, actorOf(caller, request)), request)),
  );
  router.answer(workersApi.get, ({ params }) => orchestrator.workers.get(params.id));
  router.answer(workersApi.remove, async ({ params, caller, request }) => {
    const outcome = await orchestrator.workers.remove(params.id, actorOf(caller, request));
    return outcome.ok ? accept({ success: true as const, worker_id: outcome.value.workerId }) : outcome;
  });
  router.answer(workersApi.update, ({ params, body, caller, request }) =>
    orchestrator.workers.update(params.id, body, actorOf(caller, request)),
  );
  router.answer(workersApi.drain, ({ params, body, caller, request }) => {
    const { reason = null, deadline_s: deadlineS = null } = body;
    const options = { reason, deadlineMs: deadlineS === null ? null : deadlineS * 1000 };
    return orchestrator.workers.drain(params.id, options, actorOf(caller, request));
  });
  router.answer(workersApi.undrain, ({ params, caller, request }) =>
    orchestrator.workers.undrain(params.id, actorOf(caller, request)),
  );
  router.answer(workersApi.unquarantine, ({ params, caller, request }) =>
    orchestrator.workers.unquarantine(params.id, actorOf(caller, request)),
  );
  router.answer(workersApi.rotateToken, async ({ params, body, caller, request }) => {
    const outcome = await orchestrator.workers.rotateToken(params.id, body.mode, actorOf(caller, request));
    return outcome.ok ? accept(issuedReply(outcome.value, request)) : outcome;
  });
  router.answer(workersApi.createJoinToken, async ({ params, body, caller, request }) => {
    const lastsMs = body.expires_in_s * 1000;
    const outcome = await orchestrator.workers.createJoinToken(params.id, lastsMs, actorOf(caller, request));
    if (!outcome.ok) return outcome;
    const { workerId, name, token, persistent, expiresAt } = outcome.value;
    const address = joinAddress(calledUrl(request));
    const hash = await scriptHash();
    return accept({
      worker_id: workerId,
      name,
      join_token: token,
      expires_at: expiresAt,
      connection_command: commandFor(outcome.value, address),
      install_command: hash === null ? null : joinLine({ ...address, token, name, persistent }, hash),
      short_command: hash === null ? null : shortLine({ ...address, token, name, persistent }),
    });
  });
}

function mountUpdateRoutes(
  router: Router,
  { orchestrator, joinAddress, sumsHash, refreshPrograms }: WorkerAdminDeps,
): void {
  router.answer(workerUpdatesApi.request, async ({ body, caller, request }) => {
    await refreshPrograms();
    const options = { workers: body.workers ?? null, when: body.when, atOnce: body.at_once };
    const workers = await orchestrator.workers.requestUpdates(options, actorOf(caller, request));
    const sums = await sumsHash();
    return accept({
      workers: [...workers],
      version,
      command: sums === null ? null : updateLine(joinAddress(calledUrl(request)), sums),
    });
  });
  router.answer(workerUpdatesApi.cancel, ({ params, caller, request }) =>
    orchestrator.workers.cancelUpdate(params.id, actorOf(caller, request)),
  );
}

/** Returns the URL under which the client has called this server; the placeholder `URL` when the host name is malformed. */
export function calledUrl(request: Request): string {
  const host = request.headers.host ?? '';
  return /^[\w.:[\]-]+$/.test(host) ? `${schemeOf(request)}://${host}` : 'URL';
}

const replyFor = (issued: IssuedToken, at: ReturnType<JoinAddress>) => ({
  worker_id: issued.workerId,
  token: issued.token,
  name: issued.name,
  connection_command: commandFor(issued, at),
});

type Startable = Pick<IssuedToken, 'token' | 'name' | 'persistent'>;

/**
 * Returns the command that starts a worker. The token is an environment variable, because every user of the machine can read the
 * arguments of a process.
 */
const commandFor = ({ token, name, persistent }: Startable, at: ReturnType<JoinAddress>): string =>
  `SIMPLETUNER_WORKER_TOKEN=${token} trainyard worker ${workerArguments({ ...at, name, persistent })}`;

/**
 * Mounts the calls for tokens of people and scripts. `recheck` ends the streams of clients that have lost the permission to
 * read them.
 */
export function mountTokenRoutes(router: Router, orchestrator: Orchestrator, recheck: () => void): void {
  router.answer(tokensApi.list, () => accept({ tokens: [...orchestrator.access.listTokens()] }));
  router.answer(tokensApi.create, ({ body, caller, request }) =>
    orchestrator.access.createToken(body, principalBehind(caller).permissions, actorOf(caller, request)),
  );
  router.answer(tokensApi.revoke, async ({ params, caller, request }) => {
    const outcome = await orchestrator.access.revokeToken(params.id, actorOf(caller, request));
    if (!outcome.ok) return outcome;
    recheck();
    return accept({ success: true as const, token_id: outcome.value });
  });
}
