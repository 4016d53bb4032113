/** What the page in the window may do, and where it may lead: no effects. */

/** Of an address, or null when it is none. */
const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

export const isAt = (url: string, origin: string): boolean => originOf(url) === origin;

/** Nothing is loaded from anywhere but the app's own server: what is made in the page itself has no address. */
export const mayLoad = (url: string, origin: string): boolean =>
  isAt(url, origin) || /^(?:data|blob|devtools):/.test(url);

/**
 * Whether a link of the page is handed to the browser of the system. The documents of the API, which are no part of the panel,
 * are shown there, too.
 */
export function mayOpenOutside(url: string, origin: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, pathname } = new URL(url);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (isAt(url, origin) && /^\/docs(?:\/|$)/.test(pathname));
}

/** How the page is kept apart from the system; each is asked for by its name, whatever Electron's own choice is by now. */
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

/** A page that was lost is loaded again: at once the first time, and ever later when it is lost again and again. */
export function reloadDelayMs(lossesAt: readonly number[], now: number): number {
  const lately = lossesAt.filter(at => now - at < 60_000).length;
  return lately <= 1 ? 0 : Math.min(30_000, 500 * 2 ** (lately - 2));
}
