import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { eventsApi, systemApi } from '../../../protocol/admin-api.ts';
import type { UiEvent } from '../../../protocol/events.ts';
import { accept, refuse, type Outcome } from '../../../protocol/problem.ts';
import { protocolVersion } from '../../../protocol/worker-api.ts';
import type { ReplyOf } from '../../../protocol/call.ts';
import { settingsApi, type SettingsChange } from '../../../protocol/settings-api.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import type { Actor } from '../../orchestrator/ports/index.ts';
import { type Authenticate, principalBehind, onlyUserOf } from '../auth/auth.ts';
import { createDocs } from '../docs/index.ts';
import { notReady } from './health-routes.ts';
import type { Metrics } from './metrics.ts';
import { describeCalls } from '../docs/openapi.ts';
import { createOwnEvents } from '../auth/own-view.ts';
import type { Router } from './route.ts';
import { encodeFrame } from '../listener/sse.ts';
import type { StreamRegistry } from '../listener/stream-registry.ts';
import { actorOf, type JoinAddress } from './admin-routes.ts';
import { isFromHere } from '../auth/sender.ts';

type View = ReplyOf<typeof settingsApi.get>;

/** The user who changes settings. `isHere` is true if the request comes from the orchestrator's own machine. */
interface SettingsCaller {
  readonly actor: Actor;
  readonly isHere: boolean;
}

/** The settings, as the routes need them. */
export interface SettingsHandler {
  view(isHere: boolean): View;
  change(settings: SettingsChange, by: SettingsCaller): Promise<Outcome<View>>;
  readonly joinAddress: JoinAddress;
  /** The address that a join script contains. */
  readonly scriptAddress: JoinAddress;
}

export function mountSettingsRoutes(router: Router, settings: SettingsHandler): void {
  router.answer(settingsApi.get, ({ request }) => accept(settings.view(isFromHere(request))));
  router.answer(settingsApi.change, ({ body, caller, request }) =>
    settings.change(body, { actor: actorOf(caller, request), isHere: isFromHere(request) }),
  );
}

/**
 * Returns the proof that this server has the key of its data folder. The proof contains the address of the request's socket, so
 * that it cannot be forwarded from another server.
 */
export type Prove = (nonce: string, at: { readonly address: string; readonly port: number }) => string;

export interface SystemDeps {
  readonly orchestrator: Orchestrator;
  readonly streams: StreamRegistry;
  readonly version: string;
  readonly authenticate: Authenticate;
  readonly metrics: Metrics;
  readonly prove: Prove;
}

export function mountSystemRoutes(router: Router, deps: SystemDeps): void {
  const { orchestrator, streams, version, authenticate, metrics, prove } = deps;
  // Described at the first request, so that calls which are mounted later are included.
  const describe = () => describeCalls(router.calls(), version);
  const document = createDocument(describe);
  router.write(systemApi.openapi, ({ request }, response) => {
    const { etag, text } = document();
    response.set({ ETag: etag, 'Cache-Control': 'public, no-cache' });
    if (request.fresh) response.status(304).end();
    else response.type('application/json').send(text);
    return Promise.resolve(accept(undefined));
  });
  router.page('/docs', createDocs(describe));
  router.answer(systemApi.ready, () =>
    orchestrator.lifecycle.acceptsWrites() ? accept({ status: 'ready' as const }) : notReady(),
  );
  router.stream(systemApi.metrics, (_input, response) => {
    response.set('Content-Type', metrics.contentType);
    metrics.text().then(
      text => response.send(text),
      (cause: unknown) => response.destroy(cause instanceof Error ? cause : undefined),
    );
    return accept(undefined);
  });
  router.answer(systemApi.prove, ({ body, request }) => {
    const { localAddress = '', localPort = 0 } = request.socket;
    return accept({ proof: prove(body.nonce, { address: localAddress, port: localPort }) });
  });
  router.answer(systemApi.live, () => accept({ status: 'live' as const }));
  router.answer(systemApi.version, () =>
    accept({ name: 'trainyard' as const, version, protocol: protocolVersion }),
  );
  const frameOf = createFrames();
  const ownEvents = createOwnEvents();
  router.stream(eventsApi.stream, ({ query, caller, request }, response) => {
    const principal = principalBehind(caller);
    const holder = principal.user;
    const isLimited = onlyUserOf(caller) !== null;
    if (!streams.hasRoom(holder))
      return refuse('too_many_streams', `The token ${holder} has too many open streams: close some`);
    const isAllowed = (): boolean => authenticate(request, eventsApi.stream).ok;
    const { pingMs } = orchestrator.lifecycle.times;
    const ping = { kind: 'ping' as const, every_ms: pingMs };
    const stream = streams.open(response, { pingMs, holder, isAllowed, ...(query.pings && { ping }) });
    if (query.pings) stream.send(ping);
    const send = (event: UiEvent): void =>
      stream.sendFrame(frameOf(isLimited ? ownEvents(event, principal) : event));
    const stop = orchestrator.lifecycle.follow(lastEventId(request), send, stream);
    response.on('close', stop);
    return accept(undefined);
  });
}

interface Document {
  readonly etag: string;
  readonly text: string;
}

/** Creates the document at the first request and keeps it, because creating it blocks the event loop for tens of milliseconds. */
function createDocument(describe: () => unknown): () => Document {
  let document: Document | null = null;
  return () => {
    if (document !== null) return document;
    const text = JSON.stringify(describe());
    document = { etag: `"${createHash('sha256').update(text).digest('base64url')}"`, text };
    return document;
  };
}

/** Encodes each event once. All clients share the frame. */
function createFrames(): (event: UiEvent) => Uint8Array {
  const frames = new WeakMap<UiEvent, Uint8Array>();
  return event => {
    const frame = frames.get(event) ?? encodeFrame(event, event.seq);
    frames.set(event, frame);
    return frame;
  };
}

/** Parses the header `Last-Event-ID`; null if it is absent. An invalid id counts as infinite, so that the client gets a reset. */
function lastEventId(request: Request): number | null {
  const id = request.headers['last-event-id'];
  if (id === undefined) return null;
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : Number.POSITIVE_INFINITY;
}
