import { once } from 'node:events';
import type { Response } from 'express';
import type { ReplyOf } from '../../../protocol/call.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { metricsApi } from '../../../protocol/metrics-api.ts';
import { accept, refuse } from '../../../protocol/problem.ts';
import type { JobCurves, Orchestrator } from '../../orchestrator/index.ts';
import type { Router } from './route.ts';

/** Maximum number of points per response. With more curves in the response, each curve has fewer points. */
const maxPoints = 100_000;
const everything = { fromStep: null, toStep: null, fromMs: null, toMs: null };

type Read = ReplyOf<typeof metricsApi.read>;
type Curves = { readonly files: Pick<Orchestrator['files'], 'jobCurves' | 'curve' | 'reportMetrics'> };

/** Mounts the calls for training curves: workers upload points, and people read them. */
export function mountCurveRoutes(router: Router, orchestrator: Curves): void {
  router.answer(metricsApi.bring, ({ caller, params, body }) =>
    caller.kind === 'worker'
      ? orchestrator.files.reportMetrics(caller.id, params.id, body.attempt_id, body.points)
      : refuse('token_missing', 'Send the worker token in the header X-Worker-Token'),
  );
  router.answer(metricsApi.read, async ({ params: { id }, query }) => {
    const { attempt = null, keys, points, ...range } = query;
    const curves = orchestrator.files.jobCurves(id, attempt);
    if (!curves.ok) return curves;
    const requested = selectKeys(curves.value, keys);
    const count = requested.reduce((sum, each) => sum + each.keys.length, 0);
    const maxPerCurve = Math.max(1, Math.min(points, Math.floor(maxPoints / Math.max(1, count))));
    const filter = {
      fromStep: range.from_step ?? null,
      toStep: range.to_step ?? null,
      fromMs: range.from_ms ?? null,
      toMs: range.to_ms ?? null,
    };
    const attempts: Read['attempts'] = [];
    for (const { attempt: record, startedAt, endedAt, offsetMs, keys: keysOfAttempt } of requested) {
      const series: Read['attempts'][number]['series'] = [];
      for (const key of keysOfAttempt) {
        series.push({ key, points: orchestrator.files.curve(record.id, key, filter, maxPerCurve) });
        await yieldToOtherRequests();
      }
      attempts.push({
        attempt: record.n,
        attempt_id: record.id,
        worker_id: record.workerId,
        started_at: startedAt,
        ended_at: endedAt,
        offset_ms: offsetMs,
        series,
      });
    }
    return accept({ job_id: id, keys: [...curves.value.latest], attempts });
  });
  router.stream(metricsApi.download, ({ params: { id }, query: { attempt = null, keys } }, response) => {
    const curves = orchestrator.files.jobCurves(id, attempt);
    if (!curves.ok) return curves;
    response.set({
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="${fileNameOf(id)}"`,
      'Cache-Control': 'no-store',
    });
    void writeCsv(response, csvOf(orchestrator, selectKeys(curves.value, keys)));
    return accept(undefined);
  });
}

const fileNameOf = (id: JobId): string => `metrics-${id}.csv`;

/** Returns the attempts with the requested keys. Attempts without any of them are left out. */
const selectKeys = ({ attempts }: JobCurves, keys: readonly string[] | undefined) =>
  attempts
    .map(each => ({ ...each, keys: each.keys.filter(key => keys === undefined || keys.includes(key)) }))
    .filter(each => each.keys.length > 0);

/** Lets other requests run between two curves, because reading a long curve takes a moment. */
const yieldToOtherRequests = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const columns = [
  'attempt',
  'key',
  'step',
  'elapsed_ms',
  'mean',
  'min',
  'max',
  'last',
  'count',
  'gaps',
] as const;

/** Yields the text of one curve at a time. */
function* csvOf(
  { files }: Pick<Curves, 'files'>,
  attempts: JobCurves['attempts'],
): Generator<string, void, undefined> {
  yield `${columns.join(',')}\r\n`;
  for (const { attempt, keys } of attempts) {
    for (const key of keys) {
      const rows = files.curve(attempt.id, key, everything, Number.MAX_SAFE_INTEGER);
      yield rows
        .map(point => ({ ...point, attempt: attempt.n, key: cell(key) }))
        .map(row => `${columns.map(column => row[column] ?? '').join(',')}\r\n`)
        .join('');
    }
  }
}

/** Formats a key as a CSV cell (RFC 4180). A leading apostrophe prevents spreadsheets from interpreting the key as a formula. */
const cell = (key: string): string => `"${(/^[=+@-]/.test(key) ? `'${key}` : key).replaceAll('"', '""')}"`;

async function writeCsv(response: Response, batches: Iterable<string>): Promise<void> {
  const gone = once(response, 'close');
  try {
    for (const batch of batches) {
      if (response.destroyed) return;
      if (response.write(batch)) await yieldToOtherRequests();
      else await Promise.race([once(response, 'drain'), gone]);
    }
    response.end();
  } catch (cause) {
    // The client has received a part of the file. If the response ended normally, that part would look complete.
    response.destroy(cause instanceof Error ? cause : undefined);
  }
}
