import { Notification } from 'electron';
import { createBurst, tell } from './notices.ts';
import type { Words } from './words/index.ts';

export interface NotificationDeps {
  readonly words: Words;
  readonly after: (ms: number, run: () => void) => () => void;
  /** Opens a page of a fleet; null for this computer's own. */
  readonly open: (fleet: string | null, page: string) => void;
}

/** Shows notifications of the operating system. */
export function createNotifications({ words, after, open }: NotificationDeps) {
  // A notification without a reference is garbage-collected, and a click on it has no effect.
  const shown = new Set<Notification>();
  const show = (title: string, body: string, onClick: () => void): void => {
    if (!Notification.isSupported()) return;
    const notification = new Notification({ title, body });
    shown.add(notification);
    notification.on('click', () => {
      shown.delete(notification);
      onClick();
    });
    notification.on('close', () => shown.delete(notification));
    notification.show();
  };
  const burst = createBurst({
    after,
    show(notices) {
      for (const { title, body, fleet, page } of tell(notices, words))
        show(title, body, () => open(fleet, page));
    },
  });
  return { show, add: burst.add, stop: burst.stop };
}
