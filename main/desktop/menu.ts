import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { app, Menu, type MenuItemConstructorOptions, nativeImage, Tray } from 'electron';
import type { DesktopView } from '../../protocol/desktop-api.ts';
import { aboutVersion, isSignedBuild } from './build.ts';
import type { Words } from './words/index.ts';
import { type TrayAct, type TrayState, trayMenu, trayText } from './tray-model.ts';

interface TrayDeps {
  readonly icon: string;
  readonly words: Words;
  readonly act: (act: TrayAct) => void;
}

interface PanelTray {
  show(state: TrayState): void;
  close(): void;
}

/** Creates the tray icon. On desktops without a tray, the window and its menu offer the same functions. */
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
      // Do not set an unchanged menu again, because some desktops would close the open menu.
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

export interface MenuDeps {
  readonly words: Words;
  readonly fleets: DesktopView['fleets'];
  readonly shown: string | null;
  readonly go: (page: string) => void;
  readonly show: (fleet: string | null) => void;
  readonly hide: () => void;
  readonly quit: () => void;
  readonly copyDiagnostics: () => void;
  /** Null when this build has no update feed. */
  readonly checkForUpdates: (() => void) | null;
  /** Null unless the app is an AppImage. */
  readonly appsMenu: { readonly isOn: boolean; readonly set: (isOn: boolean) => void } | null;
}

const pages = ['overview', 'workers', 'jobs', 'queue', 'data', 'audit'] as const;
const pathOf = (page: (typeof pages)[number]): string => (page === 'overview' ? '/' : `/${page}`);

/** Sets the application menu with its shortcuts. */
export function setMenu(deps: MenuDeps): void {
  if (app.isPackaged) {
    const isSigned = isSignedBuild(readFileSync(join(app.getAppPath(), 'package.json'), 'utf8'));
    app.setAboutPanelOptions({ applicationVersion: aboutVersion(app.getVersion(), isSigned, deps.words) });
  }
  Menu.setApplicationMenu(
    Menu.buildFromTemplate([...menuOf(deps, process.platform === 'darwin', app.isPackaged)]),
  );
}

function menuOf(
  { words, fleets, shown, go, show, hide, quit, copyDiagnostics, checkForUpdates, appsMenu }: MenuDeps,
  isMac: boolean,
  isPackaged: boolean,
): readonly MenuItemConstructorOptions[] {
  const { menu } = words;
  const separator: MenuItemConstructorOptions = { type: 'separator' };
  const settings = { label: menu.settings, accelerator: 'CmdOrCtrl+,', click: () => go('/settings') };
  const quitItem = { label: words.quit, accelerator: 'CmdOrCtrl+Q', click: quit };
  const about: MenuItemConstructorOptions = { label: menu.about, role: 'about' };
  const macMenu: MenuItemConstructorOptions = {
    label: 'Trainyard',
    submenu: [
      about,
      separator,
      settings,
      separator,
      { role: 'hide' },
      { role: 'hideOthers' },
      { role: 'unhide' },
      separator,
      quitItem,
    ],
  };
  const fleet = (id: string | null, label: string): MenuItemConstructorOptions => ({
    type: 'radio',
    label,
    checked: id === shown,
    click: () => show(id),
  });
  return [
    ...(isMac ? [macMenu] : []),
    {
      label: menu.file,
      submenu: [
        { label: menu.newJob, accelerator: 'CmdOrCtrl+N', click: () => go('/jobs/new') },
        ...(isMac ? [] : [separator, settings]),
        separator,
        { label: menu.closeWindow, accelerator: 'CmdOrCtrl+W', click: hide },
        ...(isMac ? [] : [quitItem]),
      ],
    },
    { label: menu.edit, role: 'editMenu' },
    {
      label: menu.view,
      submenu: [
        ...pages.map((page, at) => ({
          label: menu[page],
          accelerator: `CmdOrCtrl+${at + 1}`,
          click: () => go(pathOf(page)),
        })),
        separator,
        { label: menu.reload, role: 'reload' },
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { role: 'togglefullscreen' },
        ...(isPackaged ? [] : [{ role: 'toggleDevTools' } as const]),
      ],
    },
    {
      label: menu.fleet,
      submenu: [fleet(null, words.thisComputer), ...fleets.map(({ id, name }) => fleet(id, name))],
    },
    { label: menu.window, role: 'windowMenu' },
    {
      label: menu.help,
      role: 'help',
      submenu: [
        { label: menu.keys, click: () => go('/help') },
        { label: menu.copyDiagnostics, click: copyDiagnostics },
        ...(checkForUpdates === null ? [] : [{ label: menu.checkForUpdates, click: checkForUpdates }]),
        ...(appsMenu === null ? [] : [appsMenuItem(appsMenu, menu.inAppsMenu)]),
        ...(isMac ? [] : [separator, about]),
      ],
    },
  ];
}

const appsMenuItem = (
  { isOn, set }: NonNullable<MenuDeps['appsMenu']>,
  label: string,
): MenuItemConstructorOptions => ({ type: 'checkbox', label, checked: isOn, click: () => set(!isOn) });
