/** The windows of the stand-in: pages in Debian's Chromium, with the app's own preload script. */
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { recorded } from './control.ts';
import { type BrowserContext, chromium, type Frame, type Page, type Route } from '@playwright/test';
import { chromium as executablePath } from '../../../../playwright.config.ts';

type Listener = (
  details: { readonly url: string; readonly requestHeaders: Record<string, string> },
  answer: (decision: Decision) => void,
) => void;
/** The app's decision about a request: cancel the request, or send it with these headers. */
interface Decision {
  readonly cancel?: boolean;
  readonly requestHeaders?: Record<string, string>;
}

const listeners: { before?: Listener; headers?: Listener } = {};
/** The part of `session.defaultSession` that the app uses. */
export const defaultSession = {
  webRequest: {
    onBeforeRequest: (listener: Listener) => void (listeners.before = listener),
    onBeforeSendHeaders: (listener: Listener) => void (listeners.headers = listener),
  },
  setPermissionRequestHandler() {},
  setPermissionCheckHandler() {},
  setDevicePermissionHandler() {},
};

const callListener = (
  listener: Listener | undefined,
  url: string,
  requestHeaders: Record<string, string>,
): Promise<Decision> =>
  new Promise(resolve => {
    if (listener === undefined) resolve({});
    else listener({ url, requestHeaders }, resolve);
  });

async function routeRequest(route: Route): Promise<void> {
  const url = route.request().url();
  const headers = route.request().headers();
  if ((await callListener(listeners.before, url, headers)).cancel === true) return route.abort();
  const { requestHeaders = headers } = await callListener(listeners.headers, url, headers);
  return route.continue({ headers: requestHeaders });
}

export const ipc = new EventEmitter();
export const handlers = new Map<string, (event: object, ...args: unknown[]) => unknown>();

/**
 * Returns a script that runs the preload in the page, with the modules that a sandboxed preload gets from `require('electron')`.
 * Unlike in Electron, the preload is not isolated from the page.
 */
const shim = (preload: string): string => `{
  if (window.top === window) {
    delete globalThis.SharedWorker;
    const channelListeners = new Map();
    globalThis.__receive = (channel, ...args) => { for (const run of channelListeners.get(channel) ?? []) run({}, ...args); };
    const electron = {
      contextBridge: { exposeInMainWorld: (name, api) => Object.defineProperty(globalThis, name, { value: api }) },
      ipcRenderer: {
        invoke: async (...args) => {
          const { value, error } = await __invoke(...args);
          if (error !== undefined) throw new Error(error);
          return value;
        },
        send: (...args) => void __send(...args),
        on: (channel, run) => channelListeners.set(channel, [...(channelListeners.get(channel) ?? []), run]),
        off: (channel, run) => channelListeners.set(channel, (channelListeners.get(channel) ?? []).filter(each => each !== run)),
      },
    };
    ((require, exports) => {
      ${preload}
    })(() => electron, {});
  }
}`;

let browser: Promise<BrowserContext> | null = null;
const launch = (userData: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(`${userData}/chromium`, {
    ...(executablePath !== null && { executablePath }),
    viewport: { width: 1_280, height: 840 },
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--remote-debugging-port=0',
      '--disable-background-networking',
      '--no-first-run',
      '--disable-quic',
    ],
  });

/** The part of `WebContents` that the app uses. */
export class WebContents extends EventEmitter {
  readonly mainFrame = { url: '' };
  readonly #page: Promise<Page>;
  #isLoading = false;

  constructor(userData: string, preload: string) {
    super();
    browser ??= launch(userData);
    this.#page = browser.then(context => this.#open(context, preload));
  }

  async #open(context: BrowserContext, preload: string): Promise<Page> {
    const page = context.pages()[0] ?? (await context.newPage());
    const eventOf = (frame: Frame): object => ({
      sender: this,
      senderFrame:
        frame === page.mainFrame()
          ? Object.assign(this.mainFrame, { url: frame.url() })
          : { url: frame.url() },
    });
    await context.route('**/*', routeRequest);
    await context.exposeBinding('__invoke', async ({ frame }, channel: string, ...args: unknown[]) => {
      try {
        return { value: await handlers.get(channel)?.(eventOf(frame), ...args) };
      } catch (cause) {
        return { error: String(cause) };
      }
    });
    await context.exposeBinding('__send', ({ frame }, channel: string, ...args: unknown[]) => {
      ipc.emit(channel, eventOf(frame), ...args);
    });
    await page.addInitScript(shim(readFileSync(preload, 'utf8')));
    return page;
  }

  getURL(): string {
    return this.mainFrame.url;
  }

  forcefullyCrashRenderer(): void {
    recorded.killedRenderers += 1;
  }

  isLoadingMainFrame = (): boolean => this.#isLoading;

  async loadURL(url: string): Promise<void> {
    this.#isLoading = true;
    try {
      await (await this.#page).goto(url);
    } finally {
      this.#isLoading = false;
    }
    this.emit('loaded');
  }

  send(channel: string, ...args: unknown[]): void {
    void this.#page.then(page =>
      page.evaluate(
        message =>
          (globalThis as unknown as { __receive(...message: unknown[]): void }).__receive(...message),
        [channel, ...args],
      ),
    );
  }

  setWindowOpenHandler(): void {}
}

export const closeBrowser = async (): Promise<void> => {
  await (await browser)?.close();
};
