/** The menu of the app's icon on the taskbar or dock. On Linux, electron-builder.yml defines it. */
import { app, Menu } from 'electron';
import { shortcutPages } from '../links/links.ts';
import type { Words } from '../words/index.ts';
import { shortcuts, userTasks } from './user-tasks.ts';

interface ShortcutDeps {
  readonly words: Pick<Words, 'menu'>;
  /** Brings the window to the front, at this page. */
  readonly open: (page: string) => void;
}

export function setShortcuts({ words, open }: ShortcutDeps): void {
  if (process.platform === 'win32' && app.isPackaged) app.setUserTasks(userTasks(process.execPath, words));
  if (process.platform !== 'darwin') return;
  const items = shortcuts(words).map(([name, label]) => ({ label, click: () => open(shortcutPages[name]) }));
  app.dock?.setMenu(Menu.buildFromTemplate(items));
}
