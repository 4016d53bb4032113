import { useRef } from 'react';
import { useT } from '../../i18n/index.ts';
import { Copy } from '../../ui/copy.tsx';
import { showToast } from '../../ui/toast.tsx';

interface PathLineProps {
  readonly text: string;
  readonly note?: string | null;
}

/** A path or URL with a copy button. */
export function PathLine({ text, note = null }: PathLineProps) {
  const t = useT();
  const shown = useRef<HTMLElement>(null);
  const select = (): void => {
    if (shown.current !== null) getSelection()?.selectAllChildren(shown.current);
    showToast(t('workers.copy.byHand'));
  };
  return (
    <span className="settings-line">
      <code ref={shown} className="mono">
        {text}
      </code>
      {note !== null && <span className="muted">{note}</span>}
      <Copy text={text} label={t('settings.copy', { text })} onFailed={select} />
    </span>
  );
}
