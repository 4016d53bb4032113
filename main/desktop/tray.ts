import { Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron';
import { type TrayAct, type TrayState, trayMenu, trayText } from './tray-model.ts';
import type { Words } from './words/index.ts';

export interface TrayDeps {
  readonly icon: string;
  readonly words: Words;
  readonly act: (act: TrayAct) => void;
}

export interface PanelTray {
  show(state: TrayState): void;
  close(): void;
}

/** The tray icon. On desktops without a tray, the window and its menu offer the same functions. */
export function createTray({ icon, words, act }: TrayDeps): PanelTray {
  const image = nativeImage.createFromPath(icon);
  if (process.platform === 'darwin') image.setTemplateImage(true);
  const tray = new Tray(image);
  let shownText = '';
  tray.on('click', () => act({ type: 'open', page: null }));
  return {
    show(state) {
      const items = trayMenu(state, words);
      const text = JSON.stringify(items);
      // Some desktops close an open menu when the app replaces it.
      if (text === shownText) return;
      shownText = text;
      tray.setToolTip(`Trainyard\n${trayText(state, words)}`);
      tray.setContextMenu(
        Menu.buildFromTemplate(
          items.map((item): MenuItemConstructorOptions => {
            if (item.kind === 'separator') return { type: 'separator' };
            if (item.kind === 'text') return { label: item.label, enabled: false };
            return { label: item.label, click: () => act(item.act) };
          }),
        ),
      );
    },
    close: () => tray.destroy(),
  };
}
