import { once } from 'node:events';
import type { Response } from 'express';
import type { JobId } from '../../../protocol/ids.ts';
import {
  type LogLine,
  type LogPage,
  type LogState,
  logsApi,
  workerLogsApi,
} from '../../../protocol/logs-api.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { LogRef, Orchestrator } from '../../orchestrator/index.ts';
import type { Log, LogFacts, LogFiles, StoredLine } from '../../orchestrator/ports/index.ts';
import { type Authenticate, principalBehind } from '../auth/auth.ts';
import { createDownloads, type DownloadLimits } from './downloads.ts';
import { followLog } from './log-follow.ts';
import type { Router } from './route.ts';
import type { StreamRegistry } from '../listener/stream-registry.ts';

export interface LogDeps {
  readonly orchestrator: Orchestrator;
  readonly files: LogFiles;
  readonly streams: StreamRegistry;
  readonly authenticate: Authenticate;
  readonly mono: () => number;
  readonly log: Log;
  readonly downloadLimits?: DownloadLimits | undefined;
}

/** A download uses open files and up to a few megabytes of memory, for as long as the client reads. */
const defaultDownloadLimits: DownloadLimits = {
  inAll: 32,
  perAddress: 8,
  pace: { spanMs: 30_000, minBytes: 65_536 },
};

/** Maximum length of a line in bytes. Longer lines are truncated. */
const maxLineBytes = 16_384;
/** Maximum length of a line in a downloaded file, in bytes, because each line must fit in memory. */
const maxLineBytesInText = 1_048_576;
/** Maximum size of all lines in a page, in characters. The client then requests the lines after the last one. */
const maxPageCharacters = 4_194_304;
/** Time limit of a search. */
const maxSearchMs = 20_000;
/** Maximum number of concurrent searches, because each search takes CPU time from all other requests. */
const maxSearches = 4;

type Found = LogRef & { readonly facts: LogFacts };

/** Mounts the calls for trainer logs: workers upload them, people and scripts read them. */
export function mountLogRoutes(router: Router, deps: LogDeps): void {
  const { orchestrator, files, streams, authenticate } = deps;
  router.answer(workerLogsApi.ship, async ({ caller, params, body }) => {
    if (caller.kind !== 'worker')
      return refuse('token_missing', 'Send the worker token in the header X-Worker-Token');
    const outcome = await orchestrator.files.shipLog(caller.id, params.id, body);
    return outcome.ok ? accept({ success: true as const, next: outcome.value }) : outcome;
  });
  router.answer(logsApi.read, async ({ params, query: { attempt, line, limit, or_empty: orEmpty } }) => {
    const log = await findLog(deps, params.id, attempt);
    if (!log.ok && orEmpty && log.refusal.code === 'log_not_begun')
      return accept(emptyPage(params.id, attempt ?? 0));
    if (!log.ok) return log;
    const { facts } = log.value;
    const lines = await pageOf(files, log.value, line ?? null, limit);
    return accept({ ...stateOf(deps, log.value), lines, open_line: facts.openLine });
  });
  router.write(
    logsApi.follow,
    async ({ params, query: { attempt, line, pings }, caller, request }, response) => {
      const holder = principalBehind(caller).user;
      if (!streams.hasRoom(holder))
        return refuse('too_many_streams', `The token ${holder} has too many open streams: close some`);
      const resumed = resumedAt(request.headers['last-event-id']);
      if (resumed === 'unreadable')
        return refuse(
          'invalid_request',
          'Last-Event-ID: send back the id of an event of this stream, or none',
        );
      const log = await findLog(deps, params.id, attempt);
      if (!log.ok) return log;
      const isAllowed = (): boolean => authenticate(request, logsApi.follow).ok;
      const { pingMs } = orchestrator.lifecycle.times;
      const ping = { kind: 'ping' as const, every_ms: pingMs };
      const stream = streams.open(response, { pingMs, holder, isAllowed, ...(pings && { ping }) });
      if (pings) stream.send(ping);
      const from = resumed ?? line ?? log.value.facts.totalLines;
      void followLog({ ...deps, logRef: log.value, from, stream, response, lineOf });
      return accept(undefined);
    },
  );
  const downloads = createDownloads(deps.downloadLimits ?? defaultDownloadLimits);
  router.write(logsApi.text, async ({ params, query: { attempt }, caller }, response) => {
    const log = await findLog(deps, params.id, attempt);
    if (!log.ok) return log;
    if (response.destroyed) return accept(undefined);
    if (!downloads.admit(principalBehind(caller).user, response)) {
      response.setHeader('Retry-After', '10');
      return refuse(
        'too_many_downloads',
        'Too many downloads of logs are in progress, in total or with your token: try again in 10 seconds',
      );
    }
    void writeText(response, deps, log.value);
    return accept(undefined);
  });
  mountSearch(router, deps);
}

function mountSearch(router: Router, deps: LogDeps): void {
  const { files, mono } = deps;
  let searches = 0;
  router.write(logsApi.search, async ({ params, query: { attempt, q, line, limit } }, response) => {
    const log = await findLog(deps, params.id, attempt);
    if (!log.ok) return log;
    if (searches >= maxSearches)
      return refuse('too_many_searches', 'Too many log searches are in progress: try again in a moment');
    searches += 1;
    const startedAt = mono();
    const isOver = (): boolean => response.destroyed || mono() - startedAt > maxSearchMs;
    try {
      const { jobId, attempt: n } = log.value;
      const result = await files.search(jobId, n, { text: q, from: line, limit, isOver });
      if (response.destroyed) return accept(undefined);
      if (result === null)
        return refuse(
          'search_too_long',
          `The log could not be searched to its end within ${maxSearchMs / 1000} seconds: try again later, or download it`,
        );
      const matches = result.matches.map(each => lineOf(each));
      response.json({ ...stateOf(deps, log.value), matches, total_matches: result.total });
      return accept(undefined);
    } finally {
      searches -= 1;
    }
  });
}

async function findLog(
  { orchestrator, files }: LogDeps,
  id: JobId,
  requestedAttempt: number | undefined,
): Promise<Outcome<Found>> {
  const ref = await orchestrator.files.findLog(id, requestedAttempt ?? null);
  if (!ref.ok) return ref;
  const facts = await files.facts(id, ref.value.attempt);
  // The log was removed after `findLog` had found it, or it contains no complete segment yet.
  if (facts === null)
    return refuse('log_not_found', `There is no log of attempt ${ref.value.attempt} of job ${id} any more`);
  return accept({ ...ref.value, facts });
}

const stateOf = (
  { orchestrator }: LogDeps,
  { jobId, attempt, attempts, facts }: Found,
): Omit<LogState, 'attempts'> & { attempts: number[] } => ({
  job_id: jobId,
  attempt,
  attempts: [...attempts],
  total_lines: facts.totalLines,
  first_line: facts.firstLine,
  bytes: facts.bytes,
  is_complete: orchestrator.files.isLogOver(jobId, attempt, facts),
});

const emptyPage = (id: JobId, attempt: number): LogPage => ({
  job_id: id,
  attempt,
  attempts: [],
  total_lines: 0,
  first_line: 0,
  bytes: 0,
  is_complete: false,
  lines: [],
  open_line: null,
});

const lineOf = ({ line, at, text, isCut, isNote }: StoredLine): LogLine => ({
  line,
  at: new Date(at).toISOString(),
  text,
  ...(isCut && { is_cut: true }),
  ...(isNote && { note: 'lost' }),
});

/** Returns at most `limit` lines: those from the line number `from` on, or the last ones if `from` is null. */
async function pageOf(
  files: LogFiles,
  { jobId, attempt, facts }: Found,
  from: number | null,
  limit: number,
): Promise<LogLine[]> {
  const first = from ?? Math.max(0, facts.totalLines - limit);
  const page: StoredLine[] = [];
  let size = 0;
  for await (const batch of files.lines(jobId, attempt, first, maxLineBytes)) {
    for (const line of batch) {
      // Lines that were added after `facts` was read are left out.
      if (line.line >= facts.totalLines || page.length === limit) return page.map(lineOf);
      if (from !== null && size + line.text.length > maxPageCharacters) return page.map(lineOf);
      page.push(line);
      size += line.text.length;
      while (size > maxPageCharacters) size -= page.shift()?.text.length ?? size;
    }
  }
  return page.map(lineOf);
}

/** Parses the header `Last-Event-ID`. Returns null if it is absent. */
function resumedAt(id: string | string[] | undefined): number | null | 'unreadable' {
  if (id === undefined) return null;
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : 'unreadable';
}

/** Sends the log as fast as the client reads. The response is an attachment, so that browsers do not display it as a page. */
async function writeText(response: Response, { files, log }: LogDeps, storedLog: Found): Promise<void> {
  const { jobId, attempt, facts } = storedLog;
  response.attachment(`${jobId}-${attempt}.log`);
  response.set({
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, no-store',
  });
  const gone = once(response, 'close');
  try {
    for (let next = facts.firstLine; next < facts.totalLines; ) {
      const before = next;
      for await (const batch of files.lines(jobId, attempt, next, maxLineBytesInText)) {
        const text = batch.map(line => `${line.text}${line.isCut ? ' [cut]' : ''}\n`).join('');
        if (response.destroyed) return;
        if (response.write(text)) await new Promise(resolve => setImmediate(resolve));
        else await Promise.race([once(response, 'drain'), gone]);
        next = (batch.at(-1)?.line ?? next) + 1;
      }
      // Retention of logs removed older parts before they could be read.
      if (next === before) break;
    }
    response.end(facts.openLine ?? '');
  } catch (cause) {
    log.warn('log.not_read', { job_id: jobId, cause });
    // The client has received a part of the file. If the response ended normally, that part would look complete.
    response.destroy();
  }
}
