import type { toast as Show } from 'sonner';
import type { CallFailure } from '../../protocol/client.ts';
import { detailOf } from '../api/session.ts';
import type { Translator } from '../i18n/index.ts';

/** Resolves once `ToastRegion` can show messages. Its code loads after the first page. */
const { promise: ready, resolve: noteReady } = Promise.withResolvers<typeof Show>();
export { noteReady };

/** Calls `show` as soon as messages can be shown. */
const whenReady = (show: (toast: typeof Show) => void): void => void ready.then(show);

export const showToast = (text: string): void => whenReady(toast => void toast(text));

/** Shows the server's error message, which names the object and the remedy. */
export const showFailure = (t: Translator, failure: CallFailure): void =>
  showTrouble(t, detailOf(failure) ?? t('error.unreachable'));

/** Shows an error message below a general title. */
export const showTrouble = (t: Translator, detail: string): void =>
  whenReady(toast => void toast.error(t('error.title'), { description: detail }));

/** Shows a message with an action, until the user chooses the action or closes the message. */
export const showOffer = (text: string, label: string, onClick: () => void): void =>
  whenReady(
    toast => void toast(text, { id: text, duration: Number.POSITIVE_INFINITY, action: { label, onClick } }),
  );

interface Undoable {
  readonly text: string;
  /** Text of the button that undoes the action. */
  readonly undo: string;
  readonly afterMs: number;
  /**
   * Performs the action: after the delay, when the toast is dismissed, or immediately when the page unloads
   * (`isLeaving`).
   */
  readonly act: (isLeaving: boolean) => void;
  /** Called after the action was performed or undone. */
  readonly onDone: () => void;
}

/** Performs an action after a delay, and shows a toast with which the user can undo it until then. */
export function showUndo({ text, undo, afterMs, act, onDone }: Undoable): void {
  let isDone = false;
  const end = (then: () => void): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    removeEventListener('pagehide', leave);
    void note.then(({ toast, id }) => toast.dismiss(id));
    onDone();
    then();
  };
  const leave = (): void => end(() => act(true));
  const timer = setTimeout(() => end(() => act(false)), afterMs);
  const note = ready.then(toast => ({
    toast,
    id: toast(text, {
      duration: Number.POSITIVE_INFINITY,
      action: { label: undo, onClick: () => end(() => undefined) },
      onDismiss: () => end(() => act(false)),
    }),
  }));
  addEventListener('pagehide', leave);
}
