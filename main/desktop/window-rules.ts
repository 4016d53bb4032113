/** Rules for the window: its position, the permissions of its page, and the addresses that the page may open. */

/** In device-independent pixels. */
interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Minimum size of the window, in device-independent pixels. */
export const smallest = { width: 480, height: 360 };
const defaultSize = { width: 1_280, height: 840 };
/** At least this much of the title bar must stay visible, so that the user can move the window. In device-independent pixels. */
const handleWidth = 120;
const handleHeight = 24;

/**
 * Returns the bounds for a window that was last at `bounds`. If no display shows its title bar any more, centers the window on
 * the primary display. `displays` are work areas, the primary display first.
 */
export function placeWindow(bounds: Rectangle | null, displays: readonly Rectangle[]): Rectangle {
  const [primary = { x: 0, y: 0, ...defaultSize }] = displays;
  if (bounds === null) return centeredOn(defaultSize, primary);
  const display = displays.find(each => isReachable(bounds, each));
  return display === undefined ? centeredOn(bounds, primary) : fitInto(bounds, display);
}

/** Returns true if the title bar, which is at the upper edge, is visible on the display. */
function isReachable(window: Rectangle, display: Rectangle): boolean {
  const left = Math.max(window.x, display.x);
  const right = Math.min(window.x + window.width, display.x + display.width);
  const isBelowTop = window.y >= display.y && window.y + handleHeight <= display.y + display.height;
  return isBelowTop && right - left >= handleWidth;
}

type Size = Pick<Rectangle, 'width' | 'height'>;

function sizeIn(size: Size, display: Rectangle): Size {
  const clamp = (length: number, min: number, max: number): number =>
    Math.min(Math.max(Math.round(length), min), Math.max(max, min));
  return {
    width: clamp(size.width, smallest.width, display.width),
    height: clamp(size.height, smallest.height, display.height),
  };
}

const fitInto = (window: Rectangle, display: Rectangle): Rectangle => ({
  x: Math.round(window.x),
  y: Math.round(window.y),
  ...sizeIn(window, display),
});

function centeredOn(preferredSize: Size, display: Rectangle): Rectangle {
  const size = sizeIn(preferredSize, display);
  return {
    ...size,
    x: Math.round(display.x + (display.width - size.width) / 2),
    y: Math.round(display.y + (display.height - size.height) / 2),
  };
}

/** Returns the origin of a URL; null for an invalid one. */
const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

export const isAt = (url: string, origin: string): boolean => originOf(url) === origin;

/**
 * Returns true if the page may load this URL. Allowed are URLs at `origin`, and `data:` and `blob:` content, which the page
 * creates without the network.
 */
export const mayLoad = (url: string, origin: string): boolean =>
  isAt(url, origin) || /^(?:data|blob|devtools):/.test(url);

/**
 * Returns true if the system's browser opens this link of the page. The API docs also open there, because they are not part of
 * the panel.
 */
export function mayOpenOutside(url: string, origin: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password, pathname } = new URL(url);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (isAt(url, origin) && /^\/docs(?:\/|$)/.test(pathname));
}

/** Web preferences that isolate the page from the system. All are explicit, so that new Electron defaults change nothing. */
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

/**
 * Returns the delay in milliseconds before a crashed page is reloaded: 0 for the first crash within a minute, and longer after
 * each further crash.
 */
export function reloadDelayMs(lossesAt: readonly number[], now: number): number {
  const recentLosses = lossesAt.filter(at => now - at < 60_000).length;
  return recentLosses <= 1 ? 0 : Math.min(30_000, 500 * 2 ** (recentLosses - 2));
}
