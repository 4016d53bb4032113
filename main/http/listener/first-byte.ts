import type { Socket } from 'node:net';

/** The first byte of TLS: a handshake record (RFC 8446, section 5.1). */
const handshake = 0x16;

/** Time for the client to read the response and close. */
const lingerMs = 1_000;

export interface Begin {
  readonly tls: () => void;
  /** Null where plain HTTP is refused with a readable message. */
  readonly plain: (() => void) | null;
}

/**
 * Reads the first byte of a connection, puts it back, and starts TLS or plain HTTP. It closes connections that send anything else, or
 * nothing within `withinMs`.
 */
export function detectTls(raw: Socket, withinMs: number, begin: Begin): void {
  const leave = (): void => void raw.destroy();
  raw.setTimeout(withinMs, leave);
  raw.once('end', leave);
  raw.once('data', (chunk: Buffer) => {
    raw.setTimeout(0);
    raw.removeListener('timeout', leave);
    raw.removeListener('end', leave);
    const [first = 0] = chunk;
    if (first === handshake) {
      raw.pause();
      raw.unshift(chunk);
      begin.tls();
    } else if (/^[A-Z]$/.test(String.fromCharCode(first))) {
      if (begin.plain === null) return refusePlain(raw);
      raw.pause();
      raw.unshift(chunk);
      begin.plain();
      process.nextTick(() => raw.resume());
    } else {
      leave();
    }
  });
}

const words = 'This port speaks https: call it by https:// instead of http://\n';

/** Sends no redirect. The request, perhaps with a token, has already crossed the network in plain text, and its sender should notice. */
function refusePlain(raw: Socket): void {
  // Keep reading: closing with unread data would reset the connection, and the response might not arrive.
  raw.resume();
  raw.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${words.length}\r\n` +
      `Cache-Control: no-store\r\nConnection: close\r\n\r\n${words}`,
  );
  const timer = setTimeout(() => raw.destroy(), lingerMs);
  raw.once('close', () => clearTimeout(timer));
}
