import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { openNetwork, usualTrust } from '../../../agent/network.ts';

/** Says what came. */
async function open(): Promise<URL> {
  const server = createServer((request, response) => {
    response.setHeader('x-length', request.headers['content-length'] ?? 'none');
    response.writeHead(request.url === '/no' ? 404 : 200);
    void text(request).then(body => response.end(`${request.method} ${body}`));
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  '%s comes with all of its body, and with its length',
  async method => {
    const answer = await openNetwork(usualTrust)(await open(), { method, body: '机 {}' });
    expect([answer.status, answer.ok, answer.headers.get('X-Length')]).toEqual([200, true, '6']);
    expect(await answer.text()).toBe(`${method} 机 {}`);
  },
);

test('what asks for something brings nothing', async () => {
  const url = await open();
  const answer = await openNetwork(usualTrust)(new URL('/no', url), {});
  expect([answer.status, answer.ok, answer.headers.get('x-length')]).toEqual([404, false, 'none']);
  expect(answer.headers.get('x-other')).toBeNull();
});

test('a call that is called off says so, before its answer and within it', async () => {
  const silent = createServer((request, response) => {
    if (request.url === '/begun') response.write('{');
  });
  await new Promise<void>(resolve => void silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  onTestFinished(() => silent.closeAllConnections());
  const base = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const fetch = openNetwork(usualTrust);
  const over = new AbortController();
  const unanswered = fetch(new URL(base), { signal: over.signal });
  const begun = await fetch(new URL('/begun', base), { signal: over.signal });
  const rest = begun.text();
  over.abort();
  await expect(unanswered).rejects.toThrow('aborted');
  await expect(rest).rejects.toThrow('aborted');
});
