/** Implements the part of Electron's API that the app imports. The app is compiled against Electron's own types. */
import { EventEmitter } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { answers, listen, recorded, type ShownItem } from './control.ts';
import { closeBrowser, defaultSession, handlers, ipc, WebContents } from './web.ts';

const paths = new Map([
  ['home', homedir()],
  ['userData', join(tmpdir(), 'stand-in')],
]);

class App extends EventEmitter {
  readonly isPackaged = false;
  readonly commandLine = { hasSwitch: () => true };
  whenReady = (): Promise<void> => Promise.resolve();
  requestSingleInstanceLock = (): boolean => true;
  getPreferredSystemLanguages = (): readonly string[] => ['en-GB'];
  getPath = (name: string): string => paths.get(name) ?? '';
  getVersion = (): string => '0.0.0';
  enableSandbox(): void {}
  setBadgeCount(count: number): boolean {
    recorded.badge = count;
    return true;
  }
  setAsDefaultProtocolClient(): void {}
  setPath(name: string, path: string): void {
    mkdirSync(path, { recursive: true });
    paths.set(name, path);
  }
  exit(code: number): void {
    // As in Electron, this exits the process and runs no further callbacks.
    void closeBrowser().finally(() => process.exit(code));
  }
}
export const app = new App();

type Rectangle = Readonly<Record<'x' | 'y' | 'width' | 'height', number>>;

export class BrowserWindow extends EventEmitter {
  readonly webContents: WebContents;
  #bounds: Rectangle;

  constructor(options: Rectangle & { readonly webPreferences: { readonly preload: string } }) {
    super();
    const { x, y, width, height } = options;
    this.#bounds = { x, y, width, height };
    this.webContents = new WebContents(app.getPath('userData'), options.webPreferences.preload);
    this.webContents.once('loaded', () => {
      this.emit('ready-to-show');
      // The test waits for this file before it connects to the page.
      writeFileSync(join(app.getPath('userData'), 'stand-in-ready'), '');
    });
    emitters.set('window', this);
    emitters.set('contents', this.webContents);
  }

  loadURL = (url: string): Promise<void> => this.webContents.loadURL(url);
  getNormalBounds = (): Rectangle => this.#bounds;
  isDestroyed = (): boolean => false;
  isMinimized = (): boolean => false;
  isFocused = (): boolean => recorded.isVisible;
  isVisible = (): boolean => recorded.isVisible;
  isMaximized = (): boolean => recorded.isMaximized;
  focus(): void {}
  restore(): void {}
  maximize(): void {
    recorded.isMaximized = true;
  }
  show(): void {
    recorded.isVisible = true;
  }
  hide(): void {
    recorded.isVisible = false;
  }
  setProgressBar(progress: number): void {
    recorded.progress = progress;
  }
  setOverlayIcon(): void {}
  setTitle(title: string): void {
    recorded.title = title;
  }
  close(): void {
    this.emit('close', { preventDefault: () => undefined });
  }
}

interface Template {
  readonly label?: string;
  readonly role?: string;
  readonly click?: () => void;
  readonly submenu?: readonly Template[];
}
const shownItems = (template: readonly Template[]): readonly ShownItem[] =>
  template.map(({ label, role = '', click, submenu = [] }) => ({
    label: label ?? role,
    click,
    items: shownItems(submenu),
  }));

export const Menu = {
  buildFromTemplate: shownItems,
  setApplicationMenu(menu: readonly ShownItem[]): void {
    recorded.menu = menu;
  },
};

export class Tray extends EventEmitter {
  setToolTip(text: string): void {
    recorded.tooltip = text;
  }
  setContextMenu(menu: readonly ShownItem[]): void {
    recorded.tray = menu;
  }
  destroy(): void {}
}

export class Notification extends EventEmitter {
  static isSupported = (): boolean => true;
  readonly #options: { readonly title: string; readonly body: string };
  constructor(options: { readonly title: string; readonly body: string }) {
    super();
    this.#options = options;
  }
  show(): void {
    recorded.notifications.push({ ...this.#options, click: () => void this.emit('click') });
  }
}

interface Box {
  readonly message: string;
  readonly detail: string;
  readonly cancelId?: number;
}

export const dialog = {
  /** As in Electron, the first argument may be the window. */
  async showMessageBox(...args: readonly [Box] | readonly [BrowserWindow, Box]) {
    const box = args.length === 1 ? args[0] : args[1];
    recorded.questions.push({ message: box.message, detail: box.detail });
    return { response: answers.shift() ?? box.cancelId ?? 0 };
  },
  showErrorBox: (message: string, detail: string): void => void recorded.questions.push({ message, detail }),
};

export const clipboard = {
  writeText(text: string): void {
    recorded.clipboard = text;
  },
};

export const crashReporter = { start(): void {} };

export const powerMonitor = Object.assign(new EventEmitter(), { isOnBatteryPower: () => false });

let lastBlockerId = 0;
export const powerSaveBlocker = {
  start(): number {
    lastBlockerId += 1;
    recorded.blockers.add(lastBlockerId);
    return lastBlockerId;
  },
  stop: (id: number): boolean => recorded.blockers.delete(id),
};

export const ipcMain = {
  on: (channel: string, run: (...args: unknown[]) => void) => ipc.on(channel, run),
  handle: (channel: string, run: (event: object, ...args: unknown[]) => unknown) =>
    handlers.set(channel, run),
};

export const safeStorage = {
  getSelectedStorageBackend: (): string => 'basic_text',
  isAsyncEncryptionAvailable: async (): Promise<boolean> => true,
};
export const session = { defaultSession };
export const shell = {
  openExternal: async (url: string): Promise<void> => void recorded.openedOutside.push(url),
};
export const nativeImage = { createFromPath: () => ({ setTemplateImage() {} }) };

const workArea = { x: 0, y: 0, width: 1_920, height: 1_080 };
export const screen = { getPrimaryDisplay: () => ({ workArea }), getAllDisplays: () => [{ workArea }] };

const emitters = new Map<string, EventEmitter>([
  ['app', app],
  ['powerMonitor', powerMonitor],
]);
listen(emitters);
