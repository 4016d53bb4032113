import { Toaster as Sonner, toast } from 'sonner';
import 'sonner/dist/styles.css';
import type { CallFailure } from '../../protocol/client.ts';
import { detailOf } from '../api/client.ts';
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

export const tell = (text: string): void => void toast(text);

/** What the server says of a call that failed is said as it is: it names the thing and what to do. */
export const tellFailure = (t: Translator, failure: CallFailure): void =>
  void toast.error(t('error.title'), { description: detailOf(failure) ?? t('error.unreachable') });

/** As the app around the page says it. */
export const tellTrouble = (t: Translator, detail: string): void =>
  void toast.error(t('error.title'), { description: detail });

interface Undoable {
  readonly text: string;
  /** The word of the way back. */
  readonly undo: string;
  readonly afterMs: number;
  /** Done when the time is over, when the note is put away, and at once when the page is left: `isLeaving`. */
  readonly act: (isLeaving: boolean) => void;
  /** Done, or taken back. */
  readonly onOver: () => void;
}

/** An act that is done a little later, and until then can be taken back. */
export function tellUndoable({ text, undo, afterMs, act, onOver }: Undoable): void {
  let isOver = false;
  const end = (then: () => void): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    removeEventListener('pagehide', leave);
    toast.dismiss(note);
    onOver();
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
