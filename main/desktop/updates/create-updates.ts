import { dialog } from 'electron';
import type { ScopedLog } from '../../host/log.ts';
import type { DesktopSettingsFile } from '../settings.ts';
import type { Words } from '../words/index.ts';
import { type AppUpdates, createAppUpdates, type Updater } from './app-updates.ts';

/** The part of the settings page that shows the update of the app. */
const updatesPage = '/settings/general#settings-update';

interface UpdatesDeps {
  readonly updater: Updater | null;
  readonly log: ScopedLog;
  readonly words: Words;
  readonly settings: DesktopSettingsFile;
  readonly after: (ms: number, run: () => void) => () => void;
  readonly ownJobs: () => number;
  readonly restart: (install: () => void) => Promise<void>;
  /** Shows a notification of the operating system. */
  readonly show: (title: string, body: string, onClick: () => void) => void;
  /** Opens a page of the panel. */
  readonly open: (page: string) => void;
}

export interface UpdatesWithMenu extends AppUpdates {
  readonly checkFromMenu: () => void;
}

/** Creates the updates with their dialogs and notifications. Returns null when this build cannot update itself. */
export function createUpdates(deps: UpdatesDeps): UpdatesWithMenu | null {
  const { updater, log, words, settings, after, ownJobs, restart, show, open } = deps;
  if (updater === null) return null;
  const openUpdates = (): void => open(updatesPage);
  const updates = createAppUpdates({
    updater,
    log,
    now: Date.now,
    after,
    runningJobs: ownJobs,
    restart,
    announce(version) {
      if (settings.now.announced_update === version) return;
      settings.change({ announced_update: version });
      show(words.updateAvailable(version), words.updateAvailableBody, openUpdates);
    },
    async ask(jobs) {
      const { response } = await dialog.showMessageBox({
        type: 'question',
        message: words.restartQuestion(jobs),
        detail: words.restartDetail,
        buttons: [words.restartNow, words.restartAfterJobs, words.cancel],
        defaultId: 1,
        cancelId: 2,
      });
      return (['now', 'after_jobs'] as const)[response] ?? 'cancel';
    },
  });
  return {
    ...updates,
    checkFromMenu() {
      updates.start('check');
      openUpdates();
    },
  };
}
