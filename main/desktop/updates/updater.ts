/** The adapter for electron-updater. No other module uses that library. */
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { UpdateInfo } from 'electron-updater';
import type { ScopedLog } from '../../host/log.ts';
import type { Updater, NewVersion } from './app-updates.ts';

interface Place {
  readonly isPackaged: boolean;
  /** The folder that contains `app-update.yml` when the app was built with a feed. */
  readonly resources: string;
  readonly platform: NodeJS.Platform;
  /** Path of the AppImage; undefined for other packages. */
  readonly appImage: string | undefined;
}

/**
 * Returns true if this copy of the app can update itself. The copy must be built with a feed (`publish` in electron-builder.yml),
 * and installed from a package, not copied out of one.
 */
export function canUpdate({ isPackaged, resources, platform, appImage }: Place): boolean {
  if (!isPackaged || !existsSync(join(resources, 'app-update.yml'))) return false;
  return platform !== 'linux' || appImage !== undefined || existsSync(join(resources, 'package-type'));
}

/** Reads the feed, and downloads and installs versions from it. Each file must have the SHA-512 that the feed names. */
export async function createUpdater(log: ScopedLog, { appImage }: Pick<Place, 'appImage'>): Promise<Updater> {
  const { autoUpdater: updater } = (await import('electron-updater')).default;
  Object.assign(updater, {
    autoDownload: false,
    autoInstallOnAppQuit: false,
    allowDowngrade: false,
    logger: {
      info: (text: unknown) => log.info('update.step', { text: String(text) }),
      warn: (text: unknown) => log.warn('update.warned', { text: String(text) }),
      error: (text: unknown) => log.warn('update.failed', { text: String(text) }),
    },
  });
  // Each call below also rejects with the error. Without a listener, Node would end the app.
  updater.on('error', () => {});
  return {
    async check() {
      const result = await updater.checkForUpdates();
      return result?.isUpdateAvailable === true ? toNewVersion(result.updateInfo) : null;
    },
    async download(onProgress) {
      const report = ({ transferred, total }: { readonly transferred: number; readonly total: number }) =>
        onProgress(transferred, total);
      updater.on('download-progress', report);
      try {
        await updater.downloadUpdate();
      } finally {
        updater.off('download-progress', report);
      }
    },
    // The updater removes the old AppImage and moves the new one into the same folder, so the folder must be writable.
    checkWritable() {
      if (appImage !== undefined) accessSync(dirname(appImage), constants.W_OK);
    },
    install: () => updater.quitAndInstall(true, true),
  };
}

/** Maximum number of characters of the release notes to show. */
const maxNotes = 20_000;

function toNewVersion({ version, releaseNotes }: UpdateInfo): NewVersion {
  const notes = Array.isArray(releaseNotes)
    ? releaseNotes.map(({ version: noteVersion, note }) => `${noteVersion}\n${note ?? ''}`).join('\n\n')
    : (releaseNotes ?? '');
  return { version: version.slice(0, 100), notes: notes.slice(0, maxNotes) };
}
