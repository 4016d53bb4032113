import { AlertDialog as Alert, Dialog as Plain } from 'radix-ui';
import type { ReactNode } from 'react';
import { useT } from '../i18n/index.ts';
import { Button } from './button.tsx';
import { useReturnedFocus } from './focus.ts';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** A click outside does not close it, so that its content is not lost. */
  readonly staysOpen?: boolean;
  /** `wide` uses all available width, for content that is viewed. */
  readonly size?: 'usual' | 'wide';
}

/** Open while it is rendered. */
export function Dialog({ title, onClose, children, staysOpen = false, size = 'usual' }: DialogProps) {
  const t = useT();
  const returnFocus = useReturnedFocus();
  return (
    <Plain.Root open onOpenChange={isOpen => !isOpen && onClose()}>
      <Plain.Portal>
        <Plain.Overlay className="overlay" />
        <Plain.Content
          className={size === 'wide' ? 'dialog dialog-wide' : 'dialog'}
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

export interface ConfirmProps {
  /** Names the object: "Rotate the token of rig-3?" */
  readonly title: string;
  /** Describes the effect. */
  readonly consequence: string;
  /** Label of the confirm button: "Rotate". */
  readonly act: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
  readonly isReady?: boolean;
  /** Label of the cancel button where "Cancel" could mean the action: "Keep it". */
  readonly back?: string;
}

/** Asks before something is destroyed. The cancel button has the focus. */
export function Confirm({
  title,
  consequence,
  act,
  onConfirm,
  onClose,
  children,
  isReady = true,
  back,
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
              <Button kind="danger" disabled={!isReady} onClick={onConfirm}>
                {act}
              </Button>
            </Alert.Action>
          </footer>
        </Alert.Content>
      </Alert.Portal>
    </Alert.Root>
  );
}
