/**
 * A scripted server for tests of the v1 agent model. It records all calls, and returns the answers that a test sets. A test can
 * also delay answers, and write any text to the open stream.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface RecordedCall {
  /** Method and path with the query, such as `POST /api/workers/heartbeat`. */
  readonly name: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: unknown;
  /** Resolves when the socket of this call has closed. */
  readonly closed: Promise<void>;
}

export interface ScriptedAnswer {
  /** True to compress the body. The agent's HTTP library accepts compressed bodies. */
  readonly isCompressed?: boolean;
  readonly status?: number;
  readonly body?: unknown;
}

export interface HeldCall {
  /** Resolves when the call has arrived. The server answers the call only when the test calls `answer`. */
  readonly arrived: Promise<RecordedCall>;
  answer(answer?: ScriptedAnswer): void;
}

export interface ScriptedServer {
  readonly url: string;
  readonly calls: readonly RecordedCall[];
  /** Returns the calls whose name contains this text. */
  named(part: string): RecordedCall[];
  /** Sets the answer to all later calls whose name contains this text. The default answer is 200 with `success: true`. */
  answer(part: string, answer: ScriptedAnswer): void;
  /** Holds back the answer to the next call whose name contains `part` and whose body matches `where`. */
  hold(part: string, where?: (body: unknown) => boolean): HeldCall;
  /** Writes raw text to the open stream. */
  write(text: string | Uint8Array): void;
  /** Writes one SSE frame with this event. */
  push(event: unknown): void;
  /** Ends the stream in an orderly way. */
  endStream(): void;
  /** Destroys the stream's socket. */
  breakStream(): void;
  close(): Promise<void>;
}

type Reply = (answer?: ScriptedAnswer) => void;

interface Rule {
  readonly part: string;
  readonly where: (body: unknown) => boolean;
  readonly recordCall: (call: RecordedCall, reply: Reply) => void;
}

const STREAM = 'GET /api/workers/stream';

export async function startScriptedServer(): Promise<ScriptedServer> {
  const calls: RecordedCall[] = [];
  const holds: Rule[] = [];
  const answers = new Map<string, ScriptedAnswer>([
    ['/register', { body: { worker_id: 'w_1', sse_url: '/s', resume_job: null, abandon_job: null } }],
    ['/queue', { body: { has_jobs: false } }],
  ]);
  let stream: http.ServerResponse | null = null;

  function answerTo(name: string): ScriptedAnswer {
    const [, found = {}] = [...answers].findLast(([part]) => name.includes(part)) ?? [];
    return found;
  }

  const server = http.createServer((request, response) => {
    void readJson(request).then(body => {
      const name = `${request.method} ${request.url}`;
      const closed = new Promise<void>(resolve => request.socket.once('close', () => resolve()));
      const call: RecordedCall = { name, headers: request.headers, body, closed };
      const reply: Reply = (answer = answerTo(name)) => {
        if (name.startsWith(STREAM) && (answer.status ?? 200) === 200) {
          stream = response;
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
          return;
        }
        const { status = 200, body: answerBody = { success: true }, isCompressed = false } = answer;
        const plain = JSON.stringify(answerBody);
        response.writeHead(status, isCompressed ? { 'content-encoding': 'gzip' } : {});
        response.end(isCompressed ? gzipSync(plain) : plain);
      };
      calls.push(call);
      const index = holds.findIndex(rule => name.includes(rule.part) && rule.where(body));
      if (index >= 0) holds.splice(index, 1)[0]?.recordCall(call, reply);
      else reply();
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));

  function openStream(): http.ServerResponse {
    if (stream === null) throw new Error('no stream has been opened');
    return stream;
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    named: part => calls.filter(call => call.name.includes(part)),
    answer: (part, answer) => void answers.set(part, answer),
    hold(part, where = () => true) {
      const arrived = Promise.withResolvers<RecordedCall>();
      let replyHeld: Reply | null = null;
      const recordCall = (call: RecordedCall, reply: Reply): void => {
        replyHeld = reply;
        arrived.resolve(call);
      };
      holds.push({ part, where, recordCall });
      return {
        arrived: arrived.promise,
        answer(answer) {
          if (replyHeld === null) throw new Error(`no call ${part} has arrived yet`);
          replyHeld(answer);
        },
      };
    },
    write: text => void openStream().write(text),
    push: event => void openStream().write(`data: ${JSON.stringify(event)}\n\n`),
    endStream: () => void openStream().end(),
    breakStream: () => void openStream().destroy(),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readJson(request: AsyncIterable<Buffer>): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
