/** `npm run dev` as separate processes: Vite serves the page, and a real orchestrator serves everything else. */
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { argvOf, killProcessesOf, ownerVariable, processesOf } from '../support/own-processes.ts';
import { eventually } from '../support/notices.ts';
import { type Program, root, startProgram, temporaryFolder } from '../support/processes.ts';

const timeoutMs = 120_000;

interface Development extends Program {
  readonly folder: string;
  /** The address of the page. */
  readonly url: string;
  /** The code in the sign-in link. */
  readonly code: string;
}

/** Starts `npm run dev`. Resolves when it is ready. `processesOf(folder)` finds all its processes. */
async function startDev(...args: readonly string[]): Promise<Development> {
  const folder = temporaryFolder();
  onTestFinished(() => killProcessesOf(folder));
  const program = startProgram(
    [process.execPath, 'dev/run.ts', '--port', '0', '--data-dir', folder, '--workers', '2', ...args],
    { env: { [ownerVariable]: folder, NO_COLOR: '1' } },
  );
  const [, url = '', code = ''] = await program.waitForLine(/^dev +\| Open (http:\S+)\/#sign-in=([\w-]+)/);
  return { ...program, folder, url, code };
}

const signIn = ({ url, code }: Development, origin: string): Promise<Response> =>
  fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ code }),
  });

async function statusesOf({ url }: Development, cookie: string): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/api/admin/workers`, { headers: { cookie } });
  if (!response.ok) return [];
  const { workers } = (await response.json()) as { readonly workers: readonly { readonly status: string }[] };
  return workers.map(({ status }) => status);
}

const isConnected = (status: unknown): boolean => status === 'idle' || status === 'busy';

/** Polls until two workers are connected, because no single event reports both connections. Makes one request at a time. */
function waitForTwoWorkers(dev: Development, cookie: string): Promise<true> {
  let statuses: readonly unknown[] = [];
  let isRequesting = false;
  const requestStatuses = async (): Promise<void> => {
    isRequesting = true;
    statuses = await statusesOf(dev, cookie).catch(() => []);
    isRequesting = false;
  };
  const check = (): boolean => {
    if (!isRequesting) void requestStatuses();
    return statuses.length === 2 && statuses.every(isConnected);
  };
  return eventually('two connected workers', () => check() || null, timeoutMs);
}

test('serves the page with hot reload, proxies its calls, and stops the fleet before the server on Ctrl-C', {
  timeout: timeoutMs,
}, async () => {
  const dev = await startDev();
  const page = await fetch(`${dev.url}/workers/some-id`, { headers: { accept: 'text/html' } });
  const html = await page.text();
  expect(html).toContain('/@vite/client');
  expect(html).toContain('src="/renderer/main.tsx"');
  const script = await fetch(`${dev.url}/renderer/api/session.ts`);
  expect(await script.text()).toContain('createPanelClient');

  // The server sees the same origin as the browser.
  expect((await signIn(dev, 'http://localhost:1')).status).toBe(403);
  const signedIn = await signIn(dev, dev.url);
  expect(signedIn.status).toBe(200);
  const [cookie = ''] = signedIn.headers.getSetCookie().map(text => text.split(';')[0]);
  await waitForTwoWorkers(dev, cookie);

  const events = await fetch(`${dev.url}/api/events`, { headers: { cookie } });
  const eventText = events.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect(await eventText?.read()).toEqual({ done: false, value: ': open\n\n' });

  // Vite serves neither the token nor other files of the checkout.
  for (const path of [`/@fs${dev.folder}/admin-token`, `/@fs${root}package.json`, '/package.json'])
    expect((await fetch(dev.url + path)).ok).toBe(false);

  dev.kill('SIGINT');
  expect(await dev.exited).toEqual({ code: 0, signal: null });
  expect(processesOf(dev.folder)).toEqual([]);
  const order = [/Removed 2 workers/, /server\.stopping/].map(pattern =>
    dev.lines.findIndex(line => pattern.test(line)),
  );
  expect(order[0]).toBeGreaterThan(0);
  expect(order[1]).toBeGreaterThan(order[0] ?? 0);
  expect(dev.lines.every(line => /^(?:dev|server|panel|fleet) +\| /.test(line))).toBe(true);
});

test('restarts the server at the same address when its sources change, and the workers reconnect', {
  timeout: timeoutMs,
}, async () => {
  const dev = await startDev();
  const [cookie = ''] = (await signIn(dev, dev.url)).headers.getSetCookie().map(text => text.split(';')[0]);
  await waitForTwoWorkers(dev, cookie);
  const now = new Date();
  utimesSync(join(root, 'main/compose.ts'), now, now);
  await dev.waitForLine(/^server \| main\/compose\.ts changed/);
  await dev.waitForLine(/^server \| The server is ready again/);
  await waitForTwoWorkers(dev, cookie);
  dev.kill('SIGTERM');
  expect((await dev.exited).code).toBe(0);
});

test('stops all processes when the server ends, and names the server', { timeout: timeoutMs }, async () => {
  const dev = await startDev();
  const server = processesOf(dev.folder).find(pid => / server --host /.test(argvOf(pid)));
  process.kill(server ?? 0, 'SIGKILL');
  await dev.waitForLine(/^dev +\| The server ended \(signal SIGKILL\)/);
  expect((await dev.exited).code).toBe(1);
  expect(processesOf(dev.folder)).toEqual([]);
});

test('stops all child processes when npm run dev is killed', { timeout: timeoutMs }, async () => {
  const dev = await startDev();
  dev.kill('SIGKILL');
  const isOver = (): boolean => processesOf(dev.folder).length === 0;
  expect(await eventually('the end of all processes', isOver, timeoutMs)).toBe(true);
});

test('stops all processes when the demo fleet rejects an option', {
  timeout: timeoutMs,
}, async () => {
  const folder = temporaryFolder();
  onTestFinished(() => killProcessesOf(folder));
  const program = startProgram(
    [process.execPath, 'dev/run.ts', '--port', '0', '--data-dir', folder, '--wokers', '2'],
    { env: { [ownerVariable]: folder } },
  );
  await program.waitForLine(/^fleet +\| .*unknown option/);
  await program.waitForLine(/^dev +\| The demo fleet ended \(exit code 2\)/);
  expect((await program.exited).code).toBe(1);
  expect(processesOf(folder)).toEqual([]);
});
