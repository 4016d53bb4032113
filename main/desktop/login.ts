import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { app } from 'electron';
import { autostartEntry, autostartFile } from './login-entry.ts';

export interface LoginItem {
  /** Null where the setting does not exist: in a checkout, the running program is not the packaged app. */
  readonly isOn: () => boolean | null;
  readonly set: (isOn: boolean) => void;
}

export interface LoginOptions {
  readonly configHome: string;
  /** Program to start. For an AppImage this is the image, not the executable inside it. */
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
