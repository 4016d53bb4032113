import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeWhole } from '../host/whole-file.ts';
import { execLine } from './arguments.ts';
import { scheme, type Shortcut, shortcutLink } from './links/links.ts';

interface EntryOptions {
  /** The folder that `XDG_DATA_HOME` names, or its default. */
  readonly dataHome: string;
  /** Path of the AppImage. */
  readonly appImage: string;
  /** File with the icon. */
  readonly icon: string;
  /** Called after a change of the entry. */
  readonly onChange: (folder: string) => void;
}

/** The app's entry in the applications menu. Only AppImages need this, because other packages install an entry. */
export interface AppsMenuEntry {
  isOn(): boolean;
  /** Adds or removes the entry. Returns the error on failure, otherwise null. */
  set(isOn: boolean): Error | null;
}

/** Line in each entry that this app has written, so that the app changes no other entries. */
const mark = 'X-Trainyard-AppImage=true';

/**
 * Manages the entry of an AppImage in the user's applications menu. The entry also registers the app for `trainyard://` links.
 * Updates an existing entry at the start, because the AppImage may have been moved or updated.
 */
export function createAppsMenuEntry({ dataHome, appImage, icon, onChange }: EntryOptions): AppsMenuEntry {
  const file = join(dataHome, 'applications/trainyard.desktop');
  const iconFile = join(dataHome, 'icons/hicolor/256x256/apps/trainyard.png');
  const text = appsMenuEntry(appImage, iconFile);
  const stored = (): string | null => (existsSync(file) ? readFileSync(file, 'utf8') : null);
  const isOn = (): boolean => stored()?.includes(mark) === true;
  const write = (): void => {
    if (stored() !== null && !isOn()) throw new Error(`${file} belongs to another installation`);
    if (/[\n\r]/.test(appImage)) throw new Error('The path of the AppImage contains a line break');
    for (const target of [file, iconFile]) mkdirSync(dirname(target), { recursive: true });
    writeFileSync(iconFile, readFileSync(icon));
    writeWhole(file, text);
  };
  const remove = (): void => {
    if (!isOn()) return;
    rmSync(file);
    rmSync(iconFile, { force: true });
  };
  const attempt = (change: () => void): Error | null => {
    try {
      change();
      onChange(dirname(file));
      return null;
    } catch (cause) {
      return cause instanceof Error ? cause : new Error(String(cause));
    }
  };
  if (isOn() && stored() !== text) attempt(write);
  return { isOn, set: wanted => attempt(wanted ? write : remove) };
}

/** Makes the desktop reload its entries. Ignores a missing program, because such desktops reload the entries themselves. */
export const refreshAppsMenu = (folder: string): void =>
  void execFile('update-desktop-database', [folder], () => undefined);

const actions: readonly (readonly [Shortcut, string])[] = [
  ['new-job', 'New job'],
  ['jobs', 'Jobs'],
  ['workers', 'Workers'],
];

/** Returns the text of the entry. Links follow `--`, so that they are never parsed as options: web pages choose their text. */
const appsMenuEntry = (appImage: string, icon: string): string =>
  [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Trainyard',
    'Comment=Control panel and orchestrator for training on your own GPU machines',
    `Exec=${execLine(appImage, '-- %u')}`,
    `Icon=${icon.replaceAll('\\', '\\\\')}`,
    'Terminal=false',
    'Categories=Science;',
    'StartupWMClass=trainyard',
    `MimeType=x-scheme-handler/${scheme};`,
    `Actions=${actions.map(([name]) => name).join(';')};`,
    mark,
    ...actions.flatMap(([name, label]) => [
      '',
      `[Desktop Action ${name}]`,
      `Name=${label}`,
      `Exec=${execLine(appImage, `-- ${shortcutLink(name)}`)}`,
    ]),
    '',
  ].join('\n');
