import { dialog, app } from 'electron';
import { isPortTaken, openOwnOrchestrator, type OwnOrchestrator, type OwnOrchestratorDeps } from './own.ts';
import type { Words } from './words/index.ts';
import type { ScopedLog } from '../host/log.ts';
import type { ActiveFleet } from './active-fleet.ts';
import { type Summary, quitQuestion } from './summary.ts';
import type { PanelWindow } from './window.ts';

/** The user answered a question with "no". */
export class Declined extends Error {
  override readonly name = 'Declined';
}

export interface OwnHolder {
  /** Returns the running orchestrator; null until it has been started. */
  readonly now: () => OwnOrchestrator | null;
  /** Starts the orchestrator on the first call. Rejects if it cannot start, and with `Declined` if the user quits instead. */
  open(): Promise<OwnOrchestrator>;
  close(): Promise<void>;
}

/** Starts and stops the orchestrator of this computer. At most one runs at a time. */
export function createOwnHolder(deps: OwnOrchestratorDeps, words: Words): OwnHolder {
  let now: OwnOrchestrator | null = null;
  let opening: Promise<OwnOrchestrator> | null = null;
  const open = async (): Promise<OwnOrchestrator> => {
    try {
      now = await startOwn(deps, words);
      return now;
    } catch (cause) {
      opening = null;
      throw cause;
    }
  };
  return {
    now: () => now,
    open() {
      opening ??= open();
      return opening;
    },
    async close() {
      const closed = now;
      now = null;
      opening = null;
      await closed?.close();
    },
  };
}

/** Starts the orchestrator. If another program uses the port, asks the user whether to use any free port. */
async function startOwn(deps: OwnOrchestratorDeps, words: Words): Promise<OwnOrchestrator> {
  try {
    return await openOwnOrchestrator(deps);
  } catch (cause) {
    if (!isPortTaken(cause)) throw cause;
    const { response } = await dialog.showMessageBox({
      type: 'warning',
      message: words.portTaken(deps.config.port),
      detail: words.portTakenDetail,
      buttons: [words.otherPort, words.quitShort],
      defaultId: 1,
      cancelId: 1,
    });
    if (response !== 0) throw new Declined(words.portTaken(deps.config.port), { cause });
    return openOwnOrchestrator({ ...deps, config: { ...deps.config, port: 0 } });
  }
}

interface QuitFlowDeps {
  readonly words: Words;
  readonly holder: OwnHolder;
  readonly activeFleet: ActiveFleet;
  readonly log: Pick<ScopedLog, 'error'>;
  readonly window: PanelWindow;
  /** Returns the summary of this computer's own fleet; null when it is unknown. */
  readonly ownSummary: () => Summary | null;
  /** Stops the tray, notifications and watchers. */
  readonly stopAll: () => void;
}

/** Time after which an installation that has not quit the app counts as failed. */
const maxInstallMs = 30_000;

/**
 * Creates the functions that quit the app. Each stops everything visible first, then the orchestrator. A repeated `quitNow`
 * waits for the first; `quitToInstall` does nothing while the app quits.
 */
export function createQuitFlow({
  words,
  holder,
  activeFleet,
  log,
  window,
  ownSummary,
  stopAll,
}: QuitFlowDeps) {
  let quitting: Promise<void> | null = null;
  let installing = false;
  const end = async (): Promise<void> => {
    stopAll();
    window.allowClose();
    activeFleet.close();
    await holder.close().catch((cause: unknown) => log.error('desktop.not_closed', { cause }));
  };
  const quitNow = (): Promise<void> => {
    quitting ??= end().then(() => app.exit(0));
    return quitting;
  };
  return {
    quitNow,
    /** Returns true while the installation of an update quits the app. */
    isInstalling: () => installing,
    /** Stops everything, and then installs an update. `install` starts the new version and quits this one. */
    async quitToInstall(install: () => void): Promise<void> {
      if (quitting !== null) return;
      quitting = end();
      await quitting;
      installing = true;
      // Release the lock first, because the new version starts before this process has ended.
      app.releaseSingleInstanceLock();
      install();
      // If the installation fails, it does not quit the app. In that case, restart the current version.
      setTimeout(() => {
        app.relaunch();
        app.exit(0);
      }, maxInstallMs);
    },
    async quit(): Promise<void> {
      const fleet = holder.now();
      const question = quitQuestion(
        fleet === null ? null : { isGuest: fleet.isGuest, summary: ownSummary() },
        words,
      );
      if (quitting === null && question !== null) {
        const buttons = [words.quitShort, words.cancel];
        const asked = await dialog.showMessageBox({
          type: 'question',
          buttons,
          defaultId: 1,
          cancelId: 1,
          ...question,
        });
        if (asked.response !== 0) return;
      }
      await quitNow();
    },
  };
}
