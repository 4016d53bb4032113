import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { auditApi, eventsApi } from '../../../protocol/admin-api.ts';
import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { startTestServer, type TestServer, type TestServerOptions, valueOf } from '../../support/server.ts';

/** A loopback address that represents the address of the server in a network. */
export const networkHost = '127.0.0.2';

export async function openServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  return server;
}

const portOf = (server: TestServer): number => Number(new URL(server.url).port);
export const networkHttpUrl = (server: TestServer): string => `http://${networkHost}:${portOf(server)}`;

export const readSettings = async (server: TestServer): Promise<SettingsView> =>
  valueOf(await server.admin.call(settingsApi.get));

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

// Sends a change of the settings with any body and headers, to any URL.
export async function patchSettings(
  server: TestServer,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  url = server.url,
): Promise<Answer> {
  const response = await fetch(`${url}/api/settings`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

export const isLive = (url: string): Promise<boolean> =>
  fetch(`${url}/health/live`, { signal: AbortSignal.timeout(5_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

// Follows the event stream. `ended` resolves with `ended` when the server closes the stream, or with `broken` on an error.
export async function followEvents(server: TestServer, url: string) {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(url + eventsApi.stream.path, {
    headers: { authorization: `Bearer ${server.adminToken}` },
    signal: controller.signal,
  });
  let isOver = false;
  const ended = response.text().then(
    () => {
      isOver = true;
      return 'ended';
    },
    () => 'broken',
  );
  return { ended, isOver: () => isOver };
}

// Starts another server that occupies the address.
export async function occupy(host: string, port: number): Promise<Server> {
  const occupant = createServer();
  await new Promise<void>((resolve, reject) => {
    occupant.once('error', reject);
    occupant.listen(port, host, resolve);
  });
  onTestFinished(() => void occupant.close());
  return occupant;
}

export const settingsFile = (server: TestServer): string => join(server.dataDir, 'settings.json');

export const listSettingsRows = async (server: TestServer) =>
  valueOf(await server.admin.call(auditApi.list, { query: { target_id: 'settings', limit: 100 } })).entries;
