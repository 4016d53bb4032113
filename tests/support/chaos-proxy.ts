/**
 * A bad network on loopback, between one agent and its orchestrator: a proxy for HTTP and event streams that keeps a
 * log of all that passes, and breaks it when told. One for each agent makes partitions per worker.
 */
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import {
  type Exchange,
  forward,
  type Forwarded,
  parseJson,
  resetMessage,
  resetSocket,
  textOf,
} from './chaos-proxy-exchange.ts';
import { createSky, type Lane, type Weather } from './chaos-proxy-lane.ts';
import { createRuleBook, type ProxiedCall, type Rule } from './chaos-proxy-rules.ts';
import { createNotices, type Notices } from './notices.ts';

export type { Exchange } from './chaos-proxy-exchange.ts';
export { type ProxiedCall, reports } from './chaos-proxy-rules.ts';

/** `up` is what the agent says, `down` what it hears. */
export type Direction = 'up' | 'down' | 'both';

export interface ChaosProxy {
  readonly url: string;
  /** Every request so far, oldest first. */
  readonly log: readonly Exchange[];
  /** Waits for something that shows in the log. */
  readonly waitFor: Notices['waitFor'];
  /** Those whose method and path contain this. */
  calls(part: string): readonly Exchange[];
  /** Bytes vanish, sockets stay open; a new connection is accepted, and nothing comes. */
  blackhole(direction?: Direction): void;
  /** Bytes wait until `heal`, and then all come: a partition that TCP outlives. */
  stall(direction?: Direction): void;
  delay(ms: number): void;
  /** Nothing listens any more; what is connected stays so. */
  refuse(): void;
  /** Resets every connection, on both sides. */
  cut(): void;
  /** Ends weather, delay, refusal and rules. What was lost stays lost. */
  heal(): Promise<void>;
  /**
   * Streams that are open now become half open: of one that is dead at the `client`, the orchestrator hears nothing
   * more, and the reverse; the other side still believes in it.
   */
  halfOpen(deadAt: 'client' | 'orchestrator'): void;
  /** The next frame that contains this text is passed up to there; then both sides are reset. Resolves after that. */
  resetInFrame(text: string): Promise<void>;
  /** Until the answer is called: see `Rule`. */
  rule(rule: Rule): () => void;
  /** Sends a call once more, as it was, past all faults. */
  replay(call: ProxiedCall): Promise<{ readonly status: number; readonly body: unknown }>;
  close(): Promise<void>;
}

interface Link {
  readonly exchange: Exchange;
  readonly lanes: readonly Lane[];
  readonly forwarded: readonly Forwarded[];
}

interface FrameCut {
  readonly text: string;
  readonly done: () => void;
}

/** `target` is asked for every call: the orchestrator may come back elsewhere. */
export async function startChaosProxy(target: () => string): Promise<ChaosProxy> {
  const notices = createNotices();
  const skies = { up: createSky(), down: createSky() };
  const rules = createRuleBook();
  const log: Exchange[] = [];
  const links = new Set<Link>();
  const sockets = new Set<net.Socket>();
  let frameCut: FrameCut | null = null;

  const cutAt = (text: string): number | null => {
    const at = frameCut === null ? -1 : text.indexOf(frameCut.text);
    if (frameCut === null || at < 0) return null;
    const end = at + frameCut.text.length;
    setImmediate(frameCut.done);
    frameCut = null;
    return end;
  };

  const take = async (request: http.IncomingMessage, client: http.ServerResponse): Promise<void> => {
    const text = await textOf(request);
    const { method = '', url: path = '', headers } = request;
    const call = { method, path, headers, text, body: parseJson(text) };
    const fate = rules.fateOf(call);
    const exchange: Exchange = {
      ...call,
      at: performance.now(),
      fate,
      answer: null,
      delivered: false,
      open: false,
      left: false,
      frames: [],
    };
    log.push(exchange);
    notices.changed();
    if (fate === 'drop') return;
    if (fate === 'reset') {
      resetMessage(client);
      return;
    }
    const ends = { target: () => new URL(target()), client, changed: notices.changed, cutAt };
    const pairs = (fate === 'duplicate' ? [1, 2] : [1]).map(() => ({
      up: skies.up.lane(),
      down: skies.down.lane(),
    }));
    const link: Link = {
      exchange,
      lanes: pairs.flatMap(({ up, down }) => [up, down]),
      forwarded: pairs.map(pair => forward(exchange, { ...ends, ...pair })),
    };
    links.add(link);
    client.on('close', () => {
      // One whose client has gone without the orchestrator's notice still has a half to be cut.
      if (!link.lanes.some(({ lost }) => lost)) links.delete(link);
    });
  };

  const speaker = http.createServer((request, response) => void take(request, response).catch(() => {}));
  // As the orchestrator has it: what is small does not wait for what was sent before it to be acknowledged.
  const listener = net.createServer({ noDelay: true }, socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    speaker.emit('connection', socket);
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

  const turn = (weather: Weather, direction: Direction): void => {
    if (direction !== 'down') skies.up.turn(weather);
    if (direction !== 'up') skies.down.turn(weather);
  };
  const cut = (): void => {
    for (const { forwarded } of links) for (const each of forwarded) each.reset();
    links.clear();
    for (const socket of sockets) resetSocket(socket);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    log,
    waitFor: notices.waitFor,
    calls: part => log.filter(({ method, path }) => `${method} ${path}`.includes(part)),
    blackhole: (direction = 'both') => turn('black', direction),
    stall: (direction = 'both') => turn('stalled', direction),
    delay(ms) {
      skies.up.delay(ms);
      skies.down.delay(ms);
    },
    refuse: () => void listener.close(),
    cut,
    async heal() {
      rules.clear();
      skies.up.delay(0);
      skies.down.delay(0);
      turn('clear', 'both');
      if (!listener.listening) await listen(port);
    },
    halfOpen(deadAt) {
      for (const { exchange, lanes, forwarded } of links) {
        if (!exchange.open) continue;
        for (const lane of lanes) lane.lose();
        if (deadAt === 'orchestrator') for (const each of forwarded) each.hangUp();
      }
    },
    resetInFrame: text =>
      new Promise(resolve => {
        frameCut = { text, done: resolve };
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
