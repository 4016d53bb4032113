import { app, dialog } from 'electron';
import type { ScopedLog } from '../host/log.ts';
import type { OwnHolder } from './own-start.ts';
import { quitQuestion } from './quit.ts';
import type { ActiveFleet } from './stage.ts';
import type { Summary } from './summary.ts';
import type { PanelWindow } from './window.ts';
import type { Words } from './words/index.ts';

export interface QuitFlowDeps {
  readonly words: Words;
  readonly holder: OwnHolder;
  readonly stage: ActiveFleet;
  readonly log: Pick<ScopedLog, 'error'>;
  readonly window: PanelWindow;
  /** Summary of this computer's own fleet; null when it is unknown. */
  readonly ownSummary: () => Summary | null;
  /** Stops the tray, notifications and watchers. */
  readonly stopAll: () => void;
}

/** Quits in order: first everything visible, then the orchestrator. A second call joins the first. */
export function createQuitFlow({ words, holder, stage, log, window, ownSummary, stopAll }: QuitFlowDeps) {
  let leaving: Promise<void> | null = null;
  const end = async (): Promise<void> => {
    stopAll();
    window.letGo();
    stage.close();
    await holder.close().catch((cause: unknown) => log.error('desktop.not_closed', { cause }));
    app.exit(0);
  };
  const leave = (): Promise<void> => {
    leaving ??= end();
    return leaving;
  };
  return {
    leave,
    async quit(): Promise<void> {
      const own = holder.now();
      const question = quitQuestion(
        own === null ? null : { isGuest: own.isGuest, summary: ownSummary() },
        words,
      );
      if (leaving === null && question !== null) {
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
      await leave();
    },
  };
}
