import type { Socket } from 'node:net';

/** The first byte of TLS: a record of the handshake (RFC 8446, section 5.1). */
const handshake = 0x16;

/** For a client to read the answer, and to close. */
const lingerMs = 1_000;

export interface Begin {
  readonly tls: () => void;
  /** Null where plain HTTP is refused, in words that people can read. */
  readonly plain: (() => void) | null;
}

/**
 * Looks at the first byte of a connection, puts it back, and begins what it starts. Anything else than TLS and HTTP is cut off, and so
 * is a client that sends nothing for so long.
 */
export function tellTlsApart(raw: Socket, withinMs: number, begin: Begin): void {
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

/** No redirect: what was sent (a token, perhaps) has been on the network already, and the caller should come to know it. */
function refusePlain(raw: Socket): void {
  // Reading on: what is left unread would make a reset of the end, and the answer might not arrive.
  raw.resume();
  raw.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${words.length}\r\n` +
      `Cache-Control: no-store\r\nConnection: close\r\n\r\n${words}`,
  );
  const timer = setTimeout(() => raw.destroy(), lingerMs);
  raw.once('close', () => clearTimeout(timer));
}
