import type { Request } from 'express';
import { auditApi, eventsApi, systemApi, workersApi } from '../../protocol/admin-api.ts';
import type { ReplyOf } from '../../protocol/call.ts';
import type { UiEvent } from '../../protocol/events.ts';
import { accept } from '../../protocol/problem.ts';
import { protocolVersion } from '../../protocol/worker-api.ts';
import type { IssuedToken, Orchestrator } from '../orchestrator/index.ts';
import type { Actor, AuditFilter } from '../orchestrator/ports.ts';
import { addressOf, bearerOf, type Caller, sessionOf } from './auth.ts';
import { createDocs } from './docs/index.ts';
import { describeCalls } from './openapi.ts';
import type { Router } from './route.ts';
import type { StreamRegistry } from './stream-registry.ts';

/** Behind a call that needs a permission stands somebody who has it. */
export function actorOf(caller: Caller, request: Request): Actor {
  if (caller.kind !== 'bearer') throw new Error('an admin call came without a bearer');
  return personAt(caller.actor, request);
}

/** Somebody by the name of their token. */
export const personAt = (id: string, request: Request): Actor => ({
  type: 'admin',
  id,
  address: addressOf(request),
});

/** The audit trail as people read it. */
export interface AuditReader {
  list(filter: AuditFilter): ReplyOf<typeof auditApi.list>;
  verify(): Promise<ReplyOf<typeof auditApi.verify>>;
}

/** `joinUrl` is what workers are to call when this address was called here. */
export function mountWorkerAdminRoutes(
  router: Router,
  orchestrator: Orchestrator,
  joinUrl: (called: string) => string,
): void {
  const issuedReply = (issued: IssuedToken, request: Request) =>
    replyFor(issued, joinUrl(calledUrl(request)));
  router.answer(workersApi.list, ({ query }) => {
    const workers = [...orchestrator.listWorkers(query.status_filter)];
    return accept({ workers, total: workers.length, as_of_seq: orchestrator.lastSeq() });
  });
  router.answer(workersApi.create, async ({ body, caller, request }) =>
    accept(issuedReply(await orchestrator.createWorker(body, actorOf(caller, request)), request)),
  );
  router.answer(workersApi.get, ({ params }) => orchestrator.worker(params.id));
  router.answer(workersApi.remove, async ({ params, caller, request }) => {
    const outcome = await orchestrator.deleteWorker(params.id, actorOf(caller, request));
    return outcome.ok ? accept({ success: true as const, worker_id: outcome.value.workerId }) : outcome;
  });
  router.answer(workersApi.update, ({ params, body, caller, request }) =>
    orchestrator.updateWorker(params.id, body, actorOf(caller, request)),
  );
  router.answer(workersApi.drain, ({ params, body, caller, request }) => {
    const { reason = null, deadline_s: deadlineS = null } = body;
    const wish = { reason, deadlineMs: deadlineS === null ? null : deadlineS * 1000 };
    return orchestrator.drainWorker(params.id, wish, actorOf(caller, request));
  });
  router.answer(workersApi.undrain, ({ params, caller, request }) =>
    orchestrator.undrainWorker(params.id, actorOf(caller, request)),
  );
  router.answer(workersApi.unquarantine, ({ params, caller, request }) =>
    orchestrator.unquarantineWorker(params.id, actorOf(caller, request)),
  );
  router.answer(workersApi.rotateToken, async ({ params, body, caller, request }) => {
    const outcome = await orchestrator.rotateToken(params.id, body.mode, actorOf(caller, request));
    return outcome.ok ? accept(issuedReply(outcome.value, request)) : outcome;
  });
}

export function mountAuditRoutes(router: Router, audit: AuditReader): void {
  router.answer(auditApi.list, ({ query }) => {
    const { event_type: type, target_id: targetId, limit, offset } = query;
    return accept(audit.list({ type: type ?? null, targetId: targetId ?? null, limit, offset }));
  });
  router.answer(auditApi.verify, async () => accept(await audit.verify()));
}

export function mountSystemRoutes(
  router: Router,
  orchestrator: Orchestrator,
  streams: StreamRegistry,
  version: string,
): void {
  // Whatever is mounted after this is described as well.
  const describe = () => describeCalls(router.calls(), version);
  router.answer(systemApi.openapi, () => accept(describe()));
  router.page('/docs', createDocs(describe));
  router.answer(systemApi.live, () => accept({ status: 'live' as const }));
  router.answer(systemApi.version, () =>
    accept({ name: 'trainyard' as const, version, protocol: protocolVersion }),
  );
  router.stream(eventsApi.stream, ({ request }, response) => {
    const session = bearerOf(request) === null ? sessionOf(request) : null;
    const stream = streams.open(response, { pingMs: orchestrator.times.pingMs }, session);
    const send = (event: UiEvent): void => stream.send(event, event.seq);
    const stop = orchestrator.follow(lastEventId(request), send, stream);
    response.on('close', stop);
    return accept(undefined);
  });
}

/** Null without one; what is no number of ours is answered like one from the future: with a reset. */
function lastEventId(request: Request): number | null {
  const id = request.headers['last-event-id'];
  if (id === undefined) return null;
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : Number.POSITIVE_INFINITY;
}

function calledUrl(request: Request): string {
  const host = request.headers.host ?? '';
  return /^[\w.:[\]-]+$/.test(host) ? `${request.protocol}://${host}` : 'URL';
}

/** The token goes in front of the command, not behind it: arguments can be read by every user of the machine. */
function replyFor(issued: IssuedToken, givenUrl: string) {
  const url = shellWord(givenUrl);
  const name = shellWord(issued.name);
  const stay = issued.persistent ? ' --persistent' : '';
  return {
    worker_id: issued.workerId,
    token: issued.token,
    name: issued.name,
    connection_command: `SIMPLETUNER_WORKER_TOKEN=${issued.token} trainyard worker --orchestrator-url ${url} --name ${name}${stay}`,
  };
}

const shellWord = (text: string): string =>
  /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
