/** Rules for what the page in the window may do and where it may navigate. This file has no side effects. */

/** Returns the origin of a URL; null for an invalid one. */
const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

export const isAt = (url: string, origin: string): boolean => originOf(url) === origin;

/**
 * The page may load only from the app's own server. `data:` and `blob:` content is created in the page and never touches the
 * network.
 */
export const mayLoad = (url: string, origin: string): boolean =>
  isAt(url, origin) || /^(?:data|blob|devtools):/.test(url);

/**
 * Whether the system's browser opens a link of the page. This includes the API docs, which are not part of the panel.
 */
export function mayOpenOutside(url: string, origin: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, pathname } = new URL(url);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (isAt(url, origin) && /^\/docs(?:\/|$)/.test(pathname));
}

/** Isolates the page from the system. Every option is explicit, so that new Electron defaults change nothing. */
export const pagePreferences = {
  contextIsolation: true,
  sandbox: true,
  nodeIntegration: false,
  nodeIntegrationInWorker: false,
  nodeIntegrationInSubFrames: false,
  webSecurity: true,
  allowRunningInsecureContent: false,
  experimentalFeatures: false,
  webviewTag: false,
  navigateOnDragDrop: false,
  safeDialogs: true,
} as const;

/** Backoff before reloading a crashed page: none the first time, then growing with each crash of the last minute. */
export function reloadDelayMs(lossesAt: readonly number[], now: number): number {
  const lately = lossesAt.filter(at => now - at < 60_000).length;
  return lately <= 1 ? 0 : Math.min(30_000, 500 * 2 ** (lately - 2));
}
