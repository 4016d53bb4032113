import { Toaster as Sonner, toast } from 'sonner';
import 'sonner/dist/styles.css';
import type { CallFailure } from '../../protocol/client.ts';
import { detailOf } from '../api/session.ts';
import { type Translator, useT } from '../i18n/index.ts';

export function Toaster() {
  const t = useT();
  return (
    <Sonner
      position="bottom-right"
      closeButton
      containerAriaLabel={t('toast.all')}
      toastOptions={{ closeButtonAriaLabel: t('toast.close') }}
    />
  );
}

export const showToast = (text: string): void => void toast(text);

/** Shows the server's error message, which names the object and the remedy. */
export const showFailure = (t: Translator, failure: CallFailure): void =>
  void toast.error(t('error.title'), { description: detailOf(failure) ?? t('error.unreachable') });

/** Shows an error message of the desktop app. */
export const showTrouble = (t: Translator, detail: string): void =>
  void toast.error(t('error.title'), { description: detail });

/** Shows a message with an action, until the user chooses it or closes the message. */
export const showOffer = (text: string, label: string, onClick: () => void): void =>
  void toast(text, { id: text, duration: Number.POSITIVE_INFINITY, action: { label, onClick } });

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
    toast.dismiss(note);
    onDone();
    then();
  };
  const leave = (): void => end(() => act(true));
  const timer = setTimeout(() => end(() => act(false)), afterMs);
  const note = toast(text, {
    duration: Number.POSITIVE_INFINITY,
    action: { label: undo, onClick: () => end(() => undefined) },
    onDismiss: () => end(() => act(false)),
  });
  addEventListener('pagehide', leave);
}
