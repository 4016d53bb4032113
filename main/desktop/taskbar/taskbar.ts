import { app, nativeImage } from 'electron';
import { attentionCount, type Summary } from '../summary.ts';
import type { PanelWindow } from '../window.ts';
import type { Words } from '../words/index.ts';
import { noProgress, progressOf } from './progress.ts';

interface TaskbarDeps {
  readonly window: Pick<PanelWindow, 'setProgress' | 'setOverlay'>;
  /** Overlay for the taskbar button on Windows, which cannot show a number. */
  readonly icons: { readonly attention: string };
  readonly words: Pick<Words, 'needAttention'>;
  readonly now: () => number;
}

export interface Taskbar {
  /** `own` is this computer's fleet; `shown` is the fleet in the window. Each is null while its fleet is unreachable. */
  show(own: Summary | null, shown: Summary | null): void;
  close(): void;
}

/** Shows the progress of this computer's job, and how many things need attention, on the taskbar or dock. */
export function createTaskbar({ window, icons, words, now }: TaskbarDeps): Taskbar {
  let progress = noProgress;
  let attention = 0;
  const setProgress = (next: number): void => {
    if (next !== progress) window.setProgress(next);
    progress = next;
  };
  const setAttention = (next: number): void => {
    if (next === attention) return;
    attention = next;
    if (process.platform !== 'win32') return void app.setBadgeCount(next);
    window.setOverlay(
      next === 0 ? null : nativeImage.createFromPath(icons.attention),
      words.needAttention(next),
    );
  };
  return {
    show(own, shown) {
      setProgress(own === null ? noProgress : progressOf(own));
      setAttention(shown === null ? 0 : attentionCount(shown, now()));
    },
    close() {
      setProgress(noProgress);
      setAttention(0);
    },
  };
}
