import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { openNetwork, usualTrust } from '../../../../agent/connection/network.ts';
import { parsePins } from '../../../../agent/connection/trust.ts';
import { makeIdentity } from '../../../support/tls/identity.ts';
import { startListener } from '../../../support/tls/listener.ts';
import { startSseServer } from '../sse-server.ts';

// The fake timers must exist before the first connection, because the code under test picks up its timers only once.
// Therefore vite.config.ts runs this file with separate modules.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it('keeps a quiet stream over TLS open', async () => {
  const identity = await makeIdentity();
  const server = await startSseServer();
  const listener = await startListener(identity, { to: server.url });
  const pins = parsePins(identity.pin);
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const fetch = openNetwork({ ...usualTrust, pins: pins.ok ? pins.value : [] });
  const answer = await fetch(new URL(listener.url), { signal: abort.signal });
  const stream = await server.opened();
  const next = answer.body?.getReader().read();
  // An hour is longer than the default timeouts of Node and its HTTP client.
  for (let minute = 0; minute < 60; minute += 1) await vi.advanceTimersByTimeAsync(60_000);
  await stream.write('data: x\n\n');
  expect(Buffer.from((await next)?.value ?? []).toString()).toBe('data: x\n\n');
});
