import { type ComponentProps, useEffect, useRef, useState } from 'react';
import { useT } from '../i18n/index.ts';
import { showToast } from './toast.tsx';

interface ButtonProps extends ComponentProps<'button'> {
  /** `danger`: the action deletes or ends something. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
}

export function Button({ kind = 'plain', type = 'button', className = '', ...rest }: ButtonProps) {
  return <button type={type} className={`button button-${kind} ${className}`} {...rest} />;
}

interface CopyProps {
  readonly text: string;
  /** Says what is copied: "Copy the command". */
  readonly label: string;
  /** Called when the page has no clipboard, such as over plain HTTP from another machine. */
  readonly onFailed: () => void;
}

const copiedForMs = 2_000;

/** A button that copies a text and then confirms the copy for a moment. */
export function Copy({ text, label, onFailed }: CopyProps) {
  const t = useT();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), copiedForMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      onFailed();
    }
  };
  return (
    <Button onClick={() => void copy()} aria-label={isCopied ? t('action.copied') : label}>
      {isCopied ? t('action.copied') : t('action.copy')}
    </Button>
  );
}

/** A shell command with a copy button. */
export function Command({ text }: { readonly text: string }) {
  const t = useT();
  const box = useRef<HTMLElement>(null);
  const select = (): void => {
    if (box.current !== null) getSelection()?.selectAllChildren(box.current);
    showToast(t('workers.copy.byHand'));
  };
  return (
    <span className="command">
      <code ref={box} className="mono">
        {text}
      </code>
      <Copy text={text} label={t('action.copyCommand', { command: text })} onFailed={select} />
    </span>
  );
}
