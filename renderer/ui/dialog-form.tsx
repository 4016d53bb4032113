import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useT } from '../i18n/index.ts';
import { Button } from './button.tsx';

interface DialogFormProps {
  /** The act itself: "Save". */
  readonly act: string;
  /** Does it, and says why it could not; null when it is done. */
  readonly send: () => Promise<string | null>;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isReady?: boolean;
}

/** The fields of a dialog, and below them what went wrong and the two ways on. It is sent once, however often it is clicked. */
export function DialogForm({ act, send, onClose, children, isReady = true }: DialogFormProps) {
  const t = useT();
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setSending(true);
    setTrouble(await send());
    setSending(false);
  };
  return (
    <form className="dialog-form" onSubmit={event => void submit(event)}>
      {children}
      {trouble !== null && (
        <p role="alert" className="trouble">
          {trouble}
        </p>
      )}
      <footer className="dialog-foot">
        <Button onClick={onClose}>{t('action.cancel')}</Button>
        <Button kind="primary" type="submit" disabled={!isReady || isSending}>
          {act}
        </Button>
      </footer>
    </form>
  );
}
