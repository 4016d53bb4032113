import { useRef } from 'react';
import { useT } from '../i18n/index.ts';
import { Copy } from './copy.tsx';
import { showToast } from './toast.tsx';

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
