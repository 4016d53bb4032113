import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';

/** A request that `fetch` cannot send, such as one with duplicate headers, a custom `Host` or a path that is not normalized. */
export interface RawRequest {
  readonly method?: string;
  /** The path, which is sent unchanged. */
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body of the response. For an event stream, only its first part. */
  readonly text: string;
  /** The `code` of a problem response; null for other responses. */
  readonly code: string | null;
}

const timeoutMs = 20_000;

export function sendRaw(
  baseUrl: string,
  { method = 'GET', path, headers = [], body }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(baseUrl);
  const hostHeader = headers.some(([name]) => name.toLowerCase() === 'host') ? [] : [['host', host] as const];
  const lengthHeader =
    body === undefined ? [] : [['content-length', String(Buffer.byteLength(body))] as const];
  return new Promise((resolve, reject) => {
    const outgoing = request({
      hostname,
      port,
      method,
      path,
      setHost: false,
      headers: [...hostHeader, ...lengthHeader, ...headers].flat(),
      timeout: timeoutMs,
    });
    outgoing.once('error', reject);
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${method} ${path} was not answered`)));
    outgoing.once('response', response => {
      const parts: Buffer[] = [];
      const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
      const finish = (): void => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, code: codeOf(text) });
        response.destroy();
      };
      response.on('data', (part: Buffer) => {
        parts.push(part);
        if (isStream) finish();
      });
      response.once('end', finish);
      response.once('close', finish);
    });
    outgoing.end(body);
  });
}

export const bearer = (token: string): readonly [string, string] => ['authorization', `Bearer ${token}`];
export const asJson: readonly [string, string] = ['content-type', 'application/json'];

/**
 * Sends raw bytes on a new connection. Resolves with the response when the server closes the connection; rejects after 20 s
 * without data.
 */
export function sendBytes(baseUrl: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: timeoutMs });
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    socket.once('timeout', () =>
      socket.destroy(new Error('the server neither answers nor closes the connection')),
    );
    socket.once('error', reject);
    socket.once('close', () => resolve(text));
    socket.write(bytes);
  });
}

function codeOf(text: string): string | null {
  try {
    const parsed: unknown = JSON.parse(text);
    const code = typeof parsed === 'object' && parsed !== null && 'code' in parsed ? parsed.code : null;
    return typeof code === 'string' ? code : null;
  } catch {
    return null;
  }
}
