import { app, BrowserWindow, screen, shell, type WebContents } from 'electron';
import { placeWindow, smallest } from './bounds.ts';
import { mayOpenOutside, pagePreferences, reloadDelayMs } from './rules.ts';
import type { Shown } from './page-session.ts';
import type { DesktopSettingsFile } from './settings.ts';

export interface WindowParts {
  readonly shown: () => Shown | null;
  readonly settings: DesktopSettingsFile;
  readonly preload: string;
  readonly icons: { readonly window: string };
  readonly isHidden: boolean;
  /** It was closed by a person, and is only hidden. */
  readonly onClosed: () => void;
  readonly log: { readonly warn: (event: string, fields?: Readonly<Record<string, unknown>>) => void };
}

export interface PanelWindow {
  readonly contents: WebContents;
  /** Loads the panel for the first time, and is seen once it is there: always with a page, which somebody has asked for. */
  begin(page: string | null): void;
  /** Loads the panel of what is shown now, at this page of it. */
  load(page?: string): Promise<void>;
  /** In front of everything, at this page. */
  open(page: string | null): void;
  isSeen(): boolean;
  title(text: string): void;
  /** As its own button does. */
  close(): void;
  /** From here on closing it really closes it. */
  letGo(): void;
}

export function createWindow(parts: WindowParts): PanelWindow {
  const { settings, shown, preload, icons, isHidden } = parts;
  const kept = settings.now.window;
  const displays = [screen.getPrimaryDisplay(), ...screen.getAllDisplays()].map(({ workArea }) => workArea);
  const window = new BrowserWindow({
    ...placeWindow(kept?.bounds ?? null, displays),
    minWidth: smallest.width,
    minHeight: smallest.height,
    show: false,
    icon: icons.window,
    title: 'Trainyard',
    webPreferences: { ...pagePreferences, preload, spellcheck: false },
  });
  if (kept?.is_maximized === true && !isHidden) window.maximize();
  let isLeaving = false;
  const { webContents: contents } = window;
  confine(contents, shown);
  const load = async (page = '/'): Promise<void> => {
    const now = shown();
    // What is loaded while it is replaced by something newer fails, and that is nothing to tell.
    if (now !== null) await window.loadURL(now.origin + page).catch(() => undefined);
  };
  reloadWhenLost(window, load, parts.log);
  remember(window, settings);
  window.on('page-title-updated', event => event.preventDefault());
  window.on('close', event => {
    if (isLeaving) return;
    event.preventDefault();
    window.hide();
    parts.onClosed();
  });
  return {
    contents,
    load,
    begin(page) {
      window.once('ready-to-show', () => {
        if (!isHidden || page !== null) window.show();
      });
      void load(page ?? '/');
    },
    open(page) {
      if (window.isMinimized()) window.restore();
      window.show();
      window.focus();
      if (page === null) return;
      // A page that is not there yet hears nothing.
      if (contents.isLoadingMainFrame()) void load(page);
      else contents.send('go', page);
    },
    isSeen: () => window.isVisible() && window.isFocused(),
    title: text => window.setTitle(text),
    close: () => window.close(),
    letGo() {
      isLeaving = true;
    },
  };
}

/** The page stays where it is, and opens nothing; a link to elsewhere is for the browser of the system. */
function confine(contents: WebContents, shown: () => Shown | null): void {
  contents.setWindowOpenHandler(({ url }) => {
    if (mayOpenOutside(url, shown()?.origin ?? '')) void shell.openExternal(url);
    return { action: 'deny' };
  });
  contents.on('will-navigate', event => {
    event.preventDefault();
    if (mayOpenOutside(event.url, shown()?.origin ?? '')) void shell.openExternal(event.url);
  });
  contents.on('will-redirect', event => event.preventDefault());
  contents.on('will-attach-webview', event => event.preventDefault());
}

/** Whatever becomes of the page, what gives jobs out is in another process and goes on. */
function reloadWhenLost(
  window: BrowserWindow,
  load: (page: string) => Promise<void>,
  log: WindowParts['log'],
): void {
  const losses: number[] = [];
  window.webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
    if (reason === 'clean-exit' || window.isDestroyed()) return;
    const now = Date.now();
    losses.push(now);
    log.warn('desktop.page_lost', { reason, exit_code: exitCode });
    const page = pageOf(window.webContents.getURL());
    setTimeout(
      () => {
        if (!window.isDestroyed()) void load(page);
      },
      reloadDelayMs(losses, now),
    );
  });
}

function pageOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : '/';
}

const settleMs = 400;

function remember(window: BrowserWindow, settings: DesktopSettingsFile): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keep = (): void => {
    clearTimeout(timer);
    if (window.isDestroyed()) return;
    const next = { bounds: window.getNormalBounds(), is_maximized: window.isMaximized() };
    if (JSON.stringify(next) !== JSON.stringify(settings.now.window)) settings.change({ window: next });
  };
  const later = (): void => {
    clearTimeout(timer);
    timer = setTimeout(keep, settleMs);
  };
  window.on('resize', later).on('move', later).on('maximize', later).on('unmaximize', later);
  window.on('close', keep);
  app.on('before-quit', keep);
}
