import { once } from 'node:events';
import type { Response } from 'express';
import { auditApi, type AuditQuery } from '../../../protocol/admin-api.ts';
import type { ReplyOf } from '../../../protocol/call.ts';
import { escapeInvisible } from '../../../protocol/text.ts';
import { accept, refuse } from '../../../protocol/problem.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import {
  auditAliases,
  auditTypes,
  type Orchestrator,
  securityTypesAmong,
  typeFilter,
} from '../../orchestrator/index.ts';
import type { AuditPage, AuditFilter } from '../../orchestrator/ports/index.ts';
import type { Router } from './route.ts';

/** Read access to the audit trail. */
export interface AuditReader {
  list(filter: AuditPage): ReplyOf<typeof auditApi.list>;
  figures(filter: AuditFilter): ReplyOf<typeof auditApi.stats>;
  export(filter: AuditFilter): Iterable<readonly unknown[]>;
  verify(range: {
    readonly from: number | null;
    readonly to: number | null;
  }): Promise<ReplyOf<typeof auditApi.verify>>;
  compare(
    marks: readonly { readonly seq: number; readonly hash: string }[],
  ): ReplyOf<typeof auditApi.compare>;
}

export function mountAuditRoutes(router: Router, audit: AuditReader): void {
  router.answer(auditApi.list, ({ query }) => {
    const { limit, offset, ...conditions } = query;
    return accept(audit.list({ ...filterOf(conditions), limit, offset }));
  });
  router.answer(auditApi.user, ({ params: { id }, query }) => {
    const { limit, offset, ...conditions } = query;
    if (audit.list({ ...filterOf({ actor_id: id }), limit: 1, offset: 0 }).total === 0)
      return refuse('actor_not_found', 'The audit trail has no row of this user or worker: check the name');
    return accept(audit.list({ ...filterOf({ ...conditions, actor_id: id }), limit, offset }));
  });
  router.answer(auditApi.security, ({ query }) => {
    const { limit, offset, ...conditions } = query;
    const filter = filterOf(conditions);
    return accept(audit.list({ ...filter, types: securityTypesAmong(filter.types), limit, offset }));
  });
  router.answer(auditApi.stats, ({ query }) => accept(audit.figures(filterOf(query))));
  router.answer(auditApi.types, () => accept({ types: [...auditTypes], aliases: { ...auditAliases } }));
  router.answer(auditApi.verify, async ({ query }) =>
    accept(
      await audit.verify({
        from: query.from ?? query.start_id ?? null,
        to: query.to ?? query.end_id ?? null,
      }),
    ),
  );
  router.answer(auditApi.compare, ({ body }) => accept(audit.compare(body.marks)));
  router.stream(auditApi.export, ({ query }, response) => {
    response.set({
      'Content-Type': 'application/x-ndjson',
      'Content-Disposition': 'attachment; filename="trainyard-audit.jsonl"',
      'Cache-Control': 'no-store',
    });
    void writeLines(response, audit.export(filterOf(query)));
    return accept(undefined);
  });
}

/** Serves the audit rows of one job to callers who may read jobs. Leaves out addresses and rows of other targets. */
export function mountJobEvents(
  router: Router,
  orchestrator: { readonly jobs: Pick<Orchestrator['jobs'], 'get'> },
  audit: Pick<AuditReader, 'list'>,
): void {
  router.answer(queueApi.events, ({ params: { id }, query }) => {
    const job = orchestrator.jobs.get(id);
    if (!job.ok) return job;
    const { entries, total } = audit.list({ ...filterOf({ target_type: 'job', target_id: id }), ...query });
    return accept({
      entries: entries.map(({ seq, at, event_type, actor_type, actor_id, details }) => ({
        seq,
        at,
        event_type,
        actor_type,
        actor_id,
        details,
      })),
      total,
    });
  });
}

/**
 * Writes one JSON object per line. Characters that a reader could treat as the end of a line are escaped. The next batch is only
 * read after the response has accepted this one.
 */
async function writeLines(response: Response, batches: Iterable<readonly unknown[]>): Promise<void> {
  const gone = once(response, 'close');
  try {
    for (const batch of batches) {
      if (response.destroyed) return;
      const text = batch.map(entry => `${escapeInvisible(JSON.stringify(entry))}\n`).join('');
      if (response.write(text)) await new Promise(resolve => setImmediate(resolve));
      else await Promise.race([once(response, 'drain'), gone]);
    }
    response.end();
  } catch (cause) {
    // The client has received a part of the file. If the response ended normally, that part would look complete.
    response.destroy(cause instanceof Error ? cause : undefined);
  }
}

const filterOf = (conditions: AuditQuery): AuditFilter => ({
  ...typeFilter(conditions.event_type ?? null),
  actorId: conditions.actor_id ?? null,
  targetType: conditions.target_type ?? null,
  targetId: conditions.target_id ?? null,
  since: conditions.since === undefined ? null : Date.parse(conditions.since),
  until: conditions.until === undefined ? null : Date.parse(conditions.until),
});
