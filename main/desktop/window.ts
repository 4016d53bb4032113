import {
  app,
  BrowserWindow,
  dialog,
  type NativeImage,
  screen,
  shell,
  type WebContents,
  type Session,
} from 'electron';
import {
  mayOpenOutside,
  pagePreferences,
  reloadDelayMs,
  isAt,
  mayLoad,
  placeWindow,
  smallest,
} from './window-rules.ts';
import type { DesktopSettingsFile } from './settings.ts';
import type { Words } from './words/index.ts';

/** Origin of the page in the window, and the bearer token for its calls. */
export interface Shown {
  readonly origin: string;
  readonly bearer: string;
}

/**
 * Lets the page access only the server whose panel the window shows. Adds the bearer token to the page's requests, so that
 * neither the page nor its address contains the token (docs/adr/0017). Denies all permissions except writing to the clipboard.
 */
export function guardSession(session: Session, shown: () => Shown | null): void {
  const { webRequest } = session;
  webRequest.onBeforeRequest((details, answer) => {
    const { origin } = shown() ?? { origin: '' };
    answer({ cancel: !mayLoad(details.url, origin) });
  });
  webRequest.onBeforeSendHeaders((details, answer) => {
    const fleet = shown();
    const isOwn = fleet !== null && isAt(details.url, fleet.origin);
    answer({
      requestHeaders: {
        ...details.requestHeaders,
        ...(isOwn ? { Authorization: `Bearer ${fleet.bearer}` } : {}),
      },
    });
  });
  session.setPermissionRequestHandler((_contents, permission, answer) => answer(isHarmless(permission)));
  session.setPermissionCheckHandler((_contents, permission) => isHarmless(permission));
  session.setDevicePermissionHandler(() => false);
}

/** Allows writing to the clipboard, because buttons of the panel copy commands. Chromium requires a click for that. */
const isHarmless = (permission: string): boolean => permission === 'clipboard-sanitized-write';

export interface WindowDeps {
  readonly shown: () => Shown | null;
  readonly settings: DesktopSettingsFile;
  readonly preload: string;
  readonly icons: { readonly window: string };
  readonly isHidden: boolean;
  /** Called when the user closes the window, which only hides it. */
  readonly onClosed: () => void;
  readonly words: Pick<Words, 'pageHangs' | 'pageHangsDetail' | 'wait' | 'reloadPage'>;
  readonly log: { readonly warn: (event: string, fields?: Readonly<Record<string, unknown>>) => void };
}

export interface PanelWindow {
  readonly contents: WebContents;
  /**
   * Loads the panel for the first time and shows the window once it is ready. With `isHidden`, shows the window only if `page` is
   * given.
   */
  openFirstPage(page: string | null): void;
  /** Loads this page of the current fleet's panel. */
  load(page?: string): Promise<void>;
  /** Brings the window to the front and opens this page; null keeps the current page. */
  open(page: string | null): void;
  isSeen(): boolean;
  title(text: string): void;
  /** Shows progress on the taskbar or dock: 0 to 1; negative for none, above 1 for unknown progress. */
  setProgress(progress: number): void;
  /** Puts an icon on the taskbar button on Windows; `text` describes the icon. */
  setOverlay(icon: NativeImage | null, text: string): void;
  /** Acts like the window's close button. */
  close(): void;
  /** After this call, closing the window destroys it. */
  allowClose(): void;
}

export function createWindow(deps: WindowDeps): PanelWindow {
  const { settings, shown, preload, icons, isHidden } = deps;
  const storedWindow = settings.now.window;
  const displays = [screen.getPrimaryDisplay(), ...screen.getAllDisplays()].map(({ workArea }) => workArea);
  const window = new BrowserWindow({
    ...placeWindow(storedWindow?.bounds ?? null, displays),
    minWidth: smallest.width,
    minHeight: smallest.height,
    show: false,
    icon: icons.window,
    title: 'Trainyard',
    webPreferences: { ...pagePreferences, preload, spellcheck: false },
  });
  if (storedWindow?.is_maximized === true && !isHidden) window.maximize();
  let isQuitting = false;
  const { webContents: contents } = window;
  confine(contents, shown);
  const load = async (page = '/'): Promise<void> => {
    const fleet = shown();
    // A newer navigation aborts the current one, which is not an error.
    if (fleet !== null) await window.loadURL(fleet.origin + page).catch(() => undefined);
  };
  reloadWhenLost(window, load, deps.log);
  askWhenHung(window, deps);
  saveBounds(window, settings);
  window.on('page-title-updated', event => event.preventDefault());
  window.on('close', event => {
    if (isQuitting) return;
    event.preventDefault();
    window.hide();
    deps.onClosed();
  });
  return {
    contents,
    load,
    openFirstPage(page) {
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
      // A page that is still loading would miss the message.
      if (contents.isLoadingMainFrame()) void load(page);
      else contents.send('go', page);
    },
    isSeen: () => window.isVisible() && window.isFocused(),
    title: text => window.setTitle(text),
    setProgress: progress => window.setProgressBar(progress),
    setOverlay: (icon, text) => window.setOverlayIcon(icon, text),
    close: () => window.close(),
    allowClose() {
      isQuitting = true;
    },
  };
}

/** Blocks navigation and new windows. The system's browser opens external links. */
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

/** Reloads a crashed page. The orchestrator is in another process and is not affected. */
function reloadWhenLost(
  window: BrowserWindow,
  load: (page: string) => Promise<void>,
  log: WindowDeps['log'],
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

/** Asks the user whether to reload a page that does not respond. The question closes when the page responds again. */
function askWhenHung(window: BrowserWindow, { words, log }: WindowDeps): void {
  window.on('unresponsive', () => {
    log.warn('desktop.page_hangs');
    const controller = new AbortController();
    window.once('responsive', () => controller.abort());
    const question = {
      type: 'warning' as const,
      message: words.pageHangs,
      detail: words.pageHangsDetail,
      buttons: [words.wait, words.reloadPage],
      defaultId: 0,
      cancelId: 0,
      signal: controller.signal,
    };
    void dialog.showMessageBox(window, question).then(({ response }) => {
      // A page that hangs cannot reload itself. `reloadWhenLost` loads the page again.
      if (response === 1) window.webContents.forcefullyCrashRenderer();
    });
  });
}

function pageOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : '/';
}

/** Delay between a change of the window and saving its bounds. */
const saveDelayMs = 400;

function saveBounds(window: BrowserWindow, settings: DesktopSettingsFile): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const save = (): void => {
    clearTimeout(timer);
    if (window.isDestroyed()) return;
    const next = { bounds: window.getNormalBounds(), is_maximized: window.isMaximized() };
    if (JSON.stringify(next) !== JSON.stringify(settings.now.window)) settings.change({ window: next });
  };
  const scheduleSave = (): void => {
    clearTimeout(timer);
    timer = setTimeout(save, saveDelayMs);
  };
  window
    .on('resize', scheduleSave)
    .on('move', scheduleSave)
    .on('maximize', scheduleSave)
    .on('unmaximize', scheduleSave);
  window.on('close', save);
  app.on('before-quit', save);
}
