import { useRef, useState } from 'react';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { showToast } from '../../ui/toast.tsx';
import { masked } from './join-commands.ts';

interface SecretProps {
  readonly text: string;
  readonly token: string;
  /** Label of the copy button. */
  readonly label: string;
}

/** Hides the token on screen; the copied text contains it. */
export function Secret({ text, token, label }: SecretProps) {
  const t = useT();
  const [isShown, setShown] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const select = (): void => {
    setShown(true);
    // Wait until the token is rendered.
    requestAnimationFrame(() => {
      if (box.current !== null) getSelection()?.selectAllChildren(box.current);
    });
    showToast(t('workers.copy.byHand'));
  };
  return (
    <div className="worker-secret">
      <pre ref={box} className="mono">
        {isShown ? text : masked(text, token)}
      </pre>
      <div className="worker-secret-acts">
        {text.includes(token) && (
          <Button kind="quiet" onClick={() => setShown(!isShown)}>
            {isShown ? t('action.hide') : t('action.reveal')}
          </Button>
        )}
        <Copy text={text} label={label} onFailed={select} />
      </div>
    </div>
  );
}
