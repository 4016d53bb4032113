import { Tabs } from 'radix-ui';
import { useRef, useState } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { tell } from '../../ui/toast.tsx';
import {
  environmentCommands,
  isLoopback,
  type Joining,
  masked,
  shellCommand,
  systemdUnit,
  tokenCommand,
} from './join-commands.ts';
import { JoinWait } from './join-wait.tsx';

interface IssuedDialogProps {
  readonly id: WorkerId;
  readonly joining: Joining;
  readonly isNew: boolean;
  readonly onClose: () => void;
}

/** A click beside it does not close it: the token would be lost. */
export function IssuedDialog({ id, joining, isNew, onClose }: IssuedDialogProps) {
  const t = useT();
  const { name, url } = joining;
  const { host, hostname } = new URL(url);
  return (
    <Dialog
      title={t(isNew ? 'workers.issued.title' : 'workers.rotated.title', { name })}
      onClose={onClose}
      staysOpen
    >
      <p className="worker-notice" role="note">
        {t('workers.issued.once')}
      </p>
      {isNew && <p>{t('workers.issued.run')}</p>}
      <Commands joining={joining} />
      {isLoopback(hostname) && (
        <p className="muted" role="note">
          {t('workers.issued.loopback', { host })}
        </p>
      )}
      {isNew && <JoinWait id={id} joining={joining} />}
      <footer className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {t('workers.done')}
        </Button>
      </footer>
    </Dialog>
  );
}

function Commands({ joining }: { readonly joining: Joining }) {
  const t = useT();
  const { token } = joining;
  return (
    <Tabs.Root defaultValue="shell" className="worker-tabs">
      <Tabs.List className="worker-tabs-list" aria-label={t('workers.issued.tabs')}>
        <Tabs.Trigger value="shell">{t('workers.issued.shell')}</Tabs.Trigger>
        <Tabs.Trigger value="environment">{t('workers.issued.environment')}</Tabs.Trigger>
        <Tabs.Trigger value="systemd">{t('workers.issued.systemd')}</Tabs.Trigger>
      </Tabs.List>
      <Tabs.Content value="shell">
        <Secret text={shellCommand(joining)} token={token} label={t('workers.issued.copyCommand')} />
      </Tabs.Content>
      <Tabs.Content value="environment">
        <Secret text={environmentCommands(joining)} token={token} label={t('workers.issued.copyCommand')} />
      </Tabs.Content>
      <Tabs.Content value="systemd" className="worker-form">
        <p>{t('workers.issued.tokenFile')}</p>
        <Secret text={tokenCommand(joining)} token={token} label={t('workers.issued.copyToken')} />
        <p>{t('workers.issued.unit')}</p>
        <Secret text={systemdUnit(joining)} token={token} label={t('workers.issued.copyUnit')} />
      </Tabs.Content>
    </Tabs.Root>
  );
}

interface SecretProps {
  readonly text: string;
  readonly token: string;
  /** Of the button that copies it. */
  readonly label: string;
}

/** The token is not for those who look over a shoulder; what is copied has it. */
function Secret({ text, token, label }: SecretProps) {
  const t = useT();
  const [isShown, setShown] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const select = (): void => {
    setShown(true);
    // When the token is in the page.
    requestAnimationFrame(() => {
      if (box.current !== null) getSelection()?.selectAllChildren(box.current);
    });
    tell(t('workers.copy.byHand'));
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
        <Copy text={text} label={label} onRefused={select} />
      </div>
    </div>
  );
}
