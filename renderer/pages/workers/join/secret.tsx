import { useRef, useState } from 'react';
import { useT } from '../../../i18n/index.ts';
import { Button, Copy } from '../../../ui/button.tsx';
import { showToast } from '../../../ui/toast.tsx';
import { maskToken } from './join-commands.ts';

interface SecretProps {
  readonly text: string;
  readonly token: string;
  /** Label of the copy button. */
  readonly label: string;
}

/** Shows a command with the token hidden. The copy button copies the command with the token. */
export function Secret({ text, token, label }: SecretProps) {
  const t = useT();
  const [isShown, setShown] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const select = (): void => {
    setShown(true);
    // Select the text after the token has been rendered.
    requestAnimationFrame(() => {
      if (box.current !== null) getSelection()?.selectAllChildren(box.current);
    });
    showToast(t('workers.copy.byHand'));
  };
  return (
    <div className="worker-secret">
      <pre ref={box} className="mono">
        {(isShown ? text : maskToken(text, token)).split(/(\s+)/).map(wrapWord)}
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

/**
 * Keeps each word on one line, because browsers break lines after hyphens, as in `--name`. Parts at odd positions are
 * white space.
 */
const wrapWord = (part: string, at: number) =>
  at % 2 === 1 ? (
    part
  ) : (
    // Use the position as the key, because the same word can occur several times.
    <span key={at} className="worker-secret-word">
      {part}
    </span>
  );
