import { AlertDialog as Alert, Dialog as Plain } from 'radix-ui';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useT } from '../i18n/index.ts';
import { Button } from './button.tsx';
import { useReturnedFocus } from './focus.ts';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** True when a click outside must not close the dialog, because its content would be lost. */
  readonly staysOpen?: boolean;
  /** `wide` uses the available width of the window, `full` the whole window. */
  readonly size?: 'usual' | 'wide' | 'full';
}

/** A modal dialog, which is open while it is rendered. */
export function Dialog({ title, onClose, children, staysOpen = false, size = 'usual' }: DialogProps) {
  const t = useT();
  const returnFocus = useReturnedFocus();
  return (
    <Plain.Root open onOpenChange={isOpen => !isOpen && onClose()}>
      <Plain.Portal>
        <Plain.Overlay className="overlay" />
        <Plain.Content
          className={size === 'usual' ? 'dialog' : `dialog dialog-${size}`}
          aria-describedby={undefined}
          onCloseAutoFocus={returnFocus}
          onInteractOutside={event => {
            if (staysOpen) event.preventDefault();
          }}
        >
          <header className="dialog-head">
            <Plain.Title>{title}</Plain.Title>
            <Plain.Close asChild>
              <Button kind="quiet">{t('action.close')}</Button>
            </Plain.Close>
          </header>
          {children}
        </Plain.Content>
      </Plain.Portal>
    </Plain.Root>
  );
}

interface ConfirmProps {
  /** A question that names the object: "Rotate the token of rig-3?" */
  readonly title: string;
  /** Says what the action does. */
  readonly consequence: string;
  /** Text of the button that confirms: "Rotate". */
  readonly act: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
  readonly isReady?: boolean;
  /** Text of the button that cancels, where "Cancel" could mean the action: "Keep it". */
  readonly back?: string;
  /** `primary` when the action harms nothing. */
  readonly kind?: 'primary' | 'danger';
}

/** Asks for confirmation before an action that cannot be undone. The button that cancels has the focus. */
export function Confirm({
  title,
  consequence,
  act,
  onConfirm,
  onClose,
  children,
  isReady = true,
  back,
  kind = 'danger',
}: ConfirmProps) {
  const t = useT();
  const returnFocus = useReturnedFocus();
  return (
    <Alert.Root open onOpenChange={isOpen => !isOpen && onClose()}>
      <Alert.Portal>
        <Alert.Overlay className="overlay" />
        <Alert.Content className="dialog" onCloseAutoFocus={returnFocus}>
          <Alert.Title>{title}</Alert.Title>
          <Alert.Description>{consequence}</Alert.Description>
          {children}
          <footer className="dialog-foot">
            <Alert.Cancel asChild>
              <Button>{back ?? t('action.cancel')}</Button>
            </Alert.Cancel>
            <Alert.Action asChild>
              <Button kind={kind} disabled={!isReady} onClick={onConfirm}>
                {act}
              </Button>
            </Alert.Action>
          </footer>
        </Alert.Content>
      </Alert.Portal>
    </Alert.Root>
  );
}

interface DialogFormProps {
  /** Text of the button that submits: "Save". */
  readonly act: string;
  /** Submits the form. Resolves with an error message, or with null on success. */
  readonly send: () => Promise<string | null>;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isReady?: boolean;
}

/** A form in a dialog: its fields, the error message, and two buttons. Repeated clicks submit the form only once. */
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

interface TypedConfirmProps extends Omit<ConfirmProps, 'isReady'> {
  /** The name that the user must type; surrounding spaces are ignored. */
  readonly name: string;
  /** The instruction: "Type rig-3 to delete it". */
  readonly ask: ReactNode;
}

/** Confirms an action that cannot be undone by typing a name, which nobody does by accident. */
export function TypedConfirm({ name, ask, children, ...rest }: TypedConfirmProps) {
  const [typed, setTyped] = useState('');
  return (
    <Confirm {...rest} isReady={typed.trim() === name.trim()}>
      {children}
      <label>
        {ask}
        <input
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={event => setTyped(event.target.value)}
        />
      </label>
    </Confirm>
  );
}
