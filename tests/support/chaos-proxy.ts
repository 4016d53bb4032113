/**
 * A proxy on loopback that simulates a bad network between an agent and its orchestrator. It logs all HTTP requests and event
 * streams, and disturbs them on request. A test that disconnects single workers starts one proxy per worker.
 */
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import {
  type HttpExchange,
  forward,
  type Forwarded,
  parseJson,
  resetMessage,
  resetSocket,
  textOf,
} from './chaos-proxy-exchange.ts';
import { createLaneGroup, type Lane, type NetworkState } from './chaos-proxy-lane.ts';
import { createRuleBook, type ProxiedCall, type Rule } from './chaos-proxy-rules.ts';
import { createNotices, type Notices } from './notices.ts';

export type { HttpExchange } from './chaos-proxy-exchange.ts';
export { type ProxiedCall, reports } from './chaos-proxy-rules.ts';

/** `up` is from the agent to the orchestrator, `down` is the reverse. */
export type Direction = 'up' | 'down' | 'both';

export interface ChaosProxy {
  readonly url: string;
  /** Every request so far, oldest first. */
  readonly log: readonly HttpExchange[];
  /** Waits until a condition on the log holds. */
  readonly waitFor: Notices['waitFor'];
  /** Returns the requests whose method and path contain this text, such as `POST /api/workers/heartbeat`. */
  calls(part: string): readonly HttpExchange[];
  /** Discards all bytes and keeps sockets open. New connections are accepted but receive nothing. */
  blackhole(direction?: Direction): void;
  /** Queues all bytes and delivers them at `heal`, like a partition that TCP survives. */
  stall(direction?: Direction): void;
  /** Delays all later data in both directions. */
  delay(ms: number): void;
  /** Stops listening. Existing connections stay open. */
  refuse(): void;
  /** Resets every connection, on both sides. */
  cut(): void;
  /** Ends all faults: blackhole, stall, delay, refusal and rules. Lost data stays lost. */
  heal(): Promise<void>;
  /**
   * Makes the open streams half-open, so that no more data passes. `client`: neither end is closed, so the orchestrator still
   * sees an open connection. `orchestrator`: the orchestrator's end is closed, but the client still sees an open connection.
   */
  halfOpen(deadAt: 'client' | 'orchestrator'): void;
  /**
   * Waits for the next frame that contains this text. Forwards the frame up to the end of the text, and then resets both sides.
   * Resolves when the reset has started.
   */
  resetInFrame(text: string): Promise<void>;
  /** Applies a rule until the caller runs the returned function. */
  rule(rule: Rule): () => void;
  /** Sends a call again, without any faults. */
  replay(call: ProxiedCall): Promise<{ readonly status: number; readonly body: unknown }>;
  close(): Promise<void>;
}

interface Link {
  readonly exchange: HttpExchange;
  readonly lanes: readonly Lane[];
  readonly forwarded: readonly Forwarded[];
}

interface FrameCut {
  readonly text: string;
  /** Called when the frame is cut. */
  readonly onCut: () => void;
}

/** Starts a proxy. Calls `target` for each request, because the orchestrator may restart at another address. */
export async function startChaosProxy(target: () => string): Promise<ChaosProxy> {
  const notices = createNotices();
  const groups = { up: createLaneGroup(), down: createLaneGroup() };
  const rules = createRuleBook();
  const log: HttpExchange[] = [];
  const links = new Set<Link>();
  const sockets = new Set<net.Socket>();
  let frameCut: FrameCut | null = null;

  /** Returns the number of characters to forward before the reset that `resetInFrame` requested; null for no reset. */
  const cutAt = (text: string): number | null => {
    const start = frameCut === null ? -1 : text.indexOf(frameCut.text);
    if (frameCut === null || start < 0) return null;
    const end = start + frameCut.text.length;
    setImmediate(frameCut.onCut);
    frameCut = null;
    return end;
  };

  const handleRequest = async (request: http.IncomingMessage, client: http.ServerResponse): Promise<void> => {
    const text = await textOf(request);
    const { method = '', url: path = '', headers } = request;
    const call = { method, path, headers, text, body: parseJson(text) };
    const action = rules.actionFor(call);
    const exchange: HttpExchange = {
      ...call,
      at: performance.now(),
      action,
      answer: null,
      delivered: false,
      open: false,
      left: false,
      frames: [],
    };
    log.push(exchange);
    notices.changed();
    if (action === 'drop') return;
    if (action === 'reset') {
      resetMessage(client);
      return;
    }
    const ends = { target: () => new URL(target()), client, changed: notices.changed, cutAt };
    const pairs = Array.from({ length: action === 'duplicate' ? 2 : 1 }, () => ({
      up: groups.up.lane(),
      down: groups.down.lane(),
    }));
    const link: Link = {
      exchange,
      lanes: pairs.flatMap(({ up, down }) => [up, down]),
      forwarded: pairs.map(pair => forward(exchange, { ...ends, ...pair })),
    };
    links.add(link);
    client.on('close', () => {
      // Keep a link with lost data: the orchestrator has not noticed that the client left, and `cut` must still reset that side.
      if (!link.lanes.some(({ lost }) => lost)) links.delete(link);
    });
  };

  // The HTTP server does not listen. It handles the sockets of `listener`.
  const httpServer = http.createServer(
    (request, response) => void handleRequest(request, response).catch(() => {}),
  );
  // Like the orchestrator, disable Nagle's algorithm, so that small writes do not wait for earlier ones.
  const listener = net.createServer({ noDelay: true }, socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    httpServer.emit('connection', socket);
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(port, '127.0.0.1', () => {
        listener.removeListener('error', reject);
        resolve();
      });
    });
  await listen(0);
  const { port } = listener.address() as AddressInfo;

  const setState = (state: NetworkState, direction: Direction): void => {
    if (direction !== 'down') groups.up.setState(state);
    if (direction !== 'up') groups.down.setState(state);
  };
  const cut = (): void => {
    for (const { forwarded } of links) for (const exchangeEnds of forwarded) exchangeEnds.reset();
    links.clear();
    for (const socket of sockets) resetSocket(socket);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    log,
    waitFor: notices.waitFor,
    calls: part => log.filter(({ method, path }) => `${method} ${path}`.includes(part)),
    blackhole: (direction = 'both') => setState('blackhole', direction),
    stall: (direction = 'both') => setState('stalled', direction),
    delay(ms) {
      groups.up.delay(ms);
      groups.down.delay(ms);
    },
    refuse: () => void listener.close(),
    cut,
    async heal() {
      rules.clear();
      groups.up.delay(0);
      groups.down.delay(0);
      setState('open', 'both');
      if (!listener.listening) await listen(port);
    },
    halfOpen(deadAt) {
      for (const { exchange, lanes, forwarded } of links) {
        if (!exchange.open) continue;
        for (const lane of lanes) lane.lose();
        if (deadAt === 'orchestrator') for (const exchangeEnds of forwarded) exchangeEnds.hangUp();
      }
    },
    resetInFrame: text =>
      new Promise(resolve => {
        frameCut = { text, onCut: resolve };
      }),
    rule: rules.add,
    replay: call => sendAgain(call, target()),
    async close() {
      const closed = new Promise<void>(resolve => {
        if (listener.listening) listener.close(() => resolve());
        else resolve();
      });
      cut();
      await closed;
    },
  };
}

async function sendAgain(
  { method, path, headers, text }: ProxiedCall,
  target: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { 'x-worker-token': token, authorization } = headers;
  const answer = await fetch(new URL(path, target), {
    method,
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
    headers: {
      'content-type': 'application/json',
      connection: 'close',
      ...(typeof token === 'string' && { 'x-worker-token': token }),
      ...(typeof authorization === 'string' && { authorization }),
    },
    ...(text !== '' && { body: text }),
  });
  return { status: answer.status, body: parseJson(await answer.text()) };
}
