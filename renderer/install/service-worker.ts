import type { PushEvent, Scope, WindowClient } from './worker-scope.ts';

/**
 * The service worker of the panel. It shows push messages, and a stored page while the server is unreachable. It stores
 * only that page and its assets: no API replies and nothing about the fleet. It must be one file, so it imports nothing.
 */

declare const self: Scope;

/** The build replaces this with a hash of the panel, so that each version of the panel has its own service worker. */
const build = '__PANEL_BUILD__';
const prefix = 'trainyard-shell-';
const shell = prefix + build;
const unreachable = '/unreachable.html';
const icon = '/icons/icon-192.png';
const ownAsset = '/assets/unreachable-';
/** Time limit for loading a page. A suspended server accepts connections but does not answer. */
const timeoutMs = 10_000;

self.addEventListener('install', event => event.waitUntil(storeShell().then(() => self.skipWaiting())));

async function storeShell(): Promise<void> {
  const cache = await caches.open(shell);
  const page = await fetch(unreachable, { cache: 'no-cache' });
  if (!page.ok) throw new Error(`the request for ${unreachable} returned status ${page.status}`);
  const text = await page.clone().text();
  await cache.put(unreachable, page);
  const assets = text.match(/\/assets\/unreachable-[\w.-]+/g) ?? [];
  await cache.addAll([...new Set([...assets, icon])]);
}

self.addEventListener('activate', event => event.waitUntil(dropOldShells().then(() => self.clients.claim())));

async function dropOldShells(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(
    names.filter(name => name.startsWith(prefix) && name !== shell).map(name => caches.delete(name)),
  );
}

self.addEventListener('fetch', event => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== self.location.origin || request.method !== 'GET') return;
  // A download from the API is a navigation too. Do not replace it with the stored page.
  if (request.mode === 'navigate' && !/^\/(?:api|agent)\//.test(pathname))
    event.respondWith(openPage(request));
  else if (pathname.startsWith(ownAsset) || pathname === icon)
    event.respondWith(fromShell(request, pathname));
});

/** Loads a page from the server, so that it is never outdated. Returns the stored page if the server is unreachable. */
async function openPage(request: Request): Promise<Response> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    const response = await fetch(request, { signal: controller.signal });
    // Proxies answer with 502, 503 or 504 while the server is down.
    if (response.status < 502 || response.status > 504) return response;
  } catch {
    // The server is unreachable.
  } finally {
    clearTimeout(timer);
  }
  return fromShell(request, unreachable);
}

async function fromShell(request: Request, path: string): Promise<Response> {
  const cache = await caches.open(shell);
  return (await cache.match(path)) ?? fetch(request);
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/**
 * Parses a message of the server (main/notify/web-push.ts). Uses defaults for an invalid message, because browsers
 * require a notification for every push message.
 */
function readMessage(data: PushEvent['data']) {
  let message: unknown = null;
  try {
    message = data?.json();
  } catch {
    // Not JSON.
  }
  const read = (name: string): string | null =>
    typeof message === 'object' && message !== null ? textOf(Reflect.get(message, name)) : null;
  const page = read('page');
  return {
    title: read('title') ?? 'Trainyard',
    body: read('text') ?? '',
    tag: read('id') ?? 'trainyard',
    // Accept only pages of this panel: `//host` would be another site.
    page: page !== null && /^\/(?!\/)/.test(page) ? page : '/',
  };
}

self.addEventListener('push', event => {
  const { title, body, tag, page } = readMessage(event.data);
  const options = { body, tag, icon, badge: '/icons/badge-96.png', data: page };
  event.waitUntil(self.registration.showNotification(title, options));
});

self.addEventListener('notificationclick', event => {
  event.notification.close();
  event.waitUntil(openInPanel(textOf(event.notification.data) ?? '/'));
});

/** Opens a page in a window of the panel that is already open. Opens a new window when there is none. */
async function openInPanel(page: string): Promise<void> {
  const [panel] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (panel === undefined || !(await showIn(panel, page))) await self.clients.openWindow(page);
}

/** Returns false when the browser refuses to focus or to navigate the window. */
async function showIn(panel: WindowClient, page: string): Promise<boolean> {
  try {
    await panel.focus();
    await panel.navigate(page);
    return true;
  } catch {
    return false;
  }
}
