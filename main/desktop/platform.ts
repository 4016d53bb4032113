import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { app, safeStorage, powerMonitor, powerSaveBlocker, Notification } from 'electron';
import type { Battery } from '../../protocol/desktop-api.ts';
import { autostartEntry, autostartFile } from './arguments.ts';
import type { Vault } from './fleets.ts';
import { staysAwake } from './summary.ts';
import { createBurst, type Notice, toNotifications } from './notices.ts';
import type { Words } from './words/index.ts';

interface NotificationDeps {
  readonly words: Words;
  readonly after: (ms: number, run: () => void) => () => void;
  /** Opens a page of a fleet; `fleet` is null for this computer's own. */
  readonly open: (fleet: string | null, page: string) => void;
}

/** Shows notifications of the operating system. */
export function createNotifications({ words, after, open }: NotificationDeps) {
  // Without a reference, a notification is garbage-collected, and a click on it has no effect.
  const shown = new Set<Notification>();
  const show = (title: string, body: string, onClick: () => void): void => {
    if (!Notification.isSupported()) return;
    const notification = new Notification({ title, body });
    shown.add(notification);
    notification.on('click', () => {
      shown.delete(notification);
      onClick();
    });
    notification.on('close', () => shown.delete(notification));
    notification.show();
  };
  const burst = createBurst({
    after,
    show(notices) {
      for (const { title, body, fleet, page } of toNotifications(notices, words))
        show(title, body, () => open(fleet, page));
    },
  });
  return {
    show,
    /** Adds a notification; null is ignored. */
    add: (notice: Notice | null): void => (notice === null ? undefined : burst.add(notice)),
    stop: burst.stop,
  };
}

export interface Power {
  /** Sets the number of running jobs of this computer's orchestrator. */
  jobs(count: number): void;
  /** Sets the battery state that the panel reports. */
  battery(battery: Battery): void;
  close(): void;
}

/**
 * Prevents automatic sleep of the computer while jobs run. The display can still turn off. Calls `onAwoken` after the computer
 * wakes up.
 */
export function createPower(onAwoken: () => void): Power {
  let runningJobs = 0;
  let battery: Battery | null = null;
  let blocker: number | null = null;
  const decide = (): void => {
    const isWanted = staysAwake(runningJobs, { isOnBattery: powerMonitor.isOnBatteryPower(), battery });
    if (isWanted === (blocker !== null)) return;
    if (blocker === null) blocker = powerSaveBlocker.start('prevent-app-suspension');
    else {
      powerSaveBlocker.stop(blocker);
      blocker = null;
    }
  };
  powerMonitor.on('on-battery', decide);
  powerMonitor.on('on-ac', decide);
  powerMonitor.on('resume', onAwoken);
  return {
    jobs(count) {
      runningJobs = count;
      decide();
    },
    battery(now) {
      battery = now;
      decide();
    },
    close() {
      runningJobs = 0;
      decide();
      powerMonitor.off('on-battery', decide);
      powerMonitor.off('on-ac', decide);
      powerMonitor.off('resume', onAwoken);
    },
  };
}

/** Encrypts with the platform's keyring. Does not use Electron's fallback on Linux, `basic_text`, which offers no protection. */
export const systemVault: Vault = {
  async canSeal() {
    const isReal = process.platform !== 'linux' || safeStorage.getSelectedStorageBackend() !== 'basic_text';
    return isReal && (await safeStorage.isAsyncEncryptionAvailable());
  },
  seal: async text => (await safeStorage.encryptStringAsync(text)).toString('base64'),
  unseal: async sealed => (await safeStorage.decryptStringAsync(Buffer.from(sealed, 'base64'))).result,
};

export interface LoginItem {
  /** Returns null in a checkout, where the running program is not the packaged app. */
  readonly isOn: () => boolean | null;
  readonly set: (isOn: boolean) => void;
}

export interface LoginOptions {
  readonly configHome: string;
  /** Path of the program to start. For an AppImage this is the image, not the executable inside it. */
  readonly program: string;
}

/** Controls whether the app starts at login, without a window. */
export function createLoginItem({ configHome, program }: LoginOptions): LoginItem {
  if (!app.isPackaged) return { isOn: () => null, set() {} };
  if (process.platform !== 'linux') {
    const args = ['--hidden'];
    return {
      isOn: () => app.getLoginItemSettings({ args }).openAtLogin,
      set: openAtLogin => app.setLoginItemSettings({ openAtLogin, args }),
    };
  }
  const file = autostartFile(configHome);
  return {
    isOn: () => existsSync(file),
    set(isOn) {
      if (!isOn) return rmSync(file, { force: true });
      mkdirSync(dirname(file), { recursive: true });
      return writeFileSync(file, autostartEntry(program));
    },
  };
}
