import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { app } from 'electron';
import { autostartEntry, autostartFile } from './login-entry.ts';

export interface LoginItem {
  /** Null where there is no such setting: from a checkout, the program is not the app. */
  readonly isOn: () => boolean | null;
  readonly set: (isOn: boolean) => void;
}

export interface LoginParts {
  readonly configHome: string;
  /** What is started: an AppImage is another file than the program in it. */
  readonly program: string;
}

/** Whether the app starts with the session, without a window. */
export function createLoginItem({ configHome, program }: LoginParts): LoginItem {
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
