import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useT } from '../i18n/index.ts';
import { Button } from './button.tsx';

interface DialogFormProps {
  /** Label of the submit button: "Save". */
  readonly act: string;
  /** Submits the form. Resolves to an error message, or null on success. */
  readonly send: () => Promise<string | null>;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isReady?: boolean;
}

/** The fields of a dialog, followed by the error message and the two buttons. Repeated clicks send it only once. */
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
