import { useEffect, useState } from 'react';
import { useT } from '../i18n/index.ts';
import { Button } from './button.tsx';

interface CopyProps {
  readonly text: string;
  /** Names what is copied: "Copy the command". */
  readonly label: string;
  /** Called when the page has no clipboard, as over plain HTTP from another machine. */
  readonly onFailed: () => void;
}

const copiedForMs = 2_000;

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
