import { Tabs } from 'radix-ui';
import { useRef, useState } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';
import { useSettings } from '../../app/settings.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { tell } from '../../ui/toast.tsx';
import {
  environmentCommands,
  type Joining,
  masked,
  podScript,
  shellCommand,
  systemdUnit,
  tokenCommand,
} from './join-commands.ts';
import { type JoinUrl, joinUrls, pinFor } from './join-urls.ts';
import { JoinWait } from './join-wait.tsx';

interface IssuedDialogProps {
  readonly id: WorkerId;
  /** The pin goes by the address that is picked. */
  readonly joining: Omit<Joining, 'pin'>;
  readonly isNew: boolean;
  readonly onClose: () => void;
}

/** A click beside it does not close it: the token would be lost. */
export function IssuedDialog({ id, joining, isNew, onClose }: IssuedDialogProps) {
  const t = useT();
  const { settings } = useSettings();
  const [picked, setPicked] = useState<string | null>(null);
  const { name } = joining;
  const urls = joinUrls(settings, joining.url);
  const chosen = urls.find(({ url }) => url === picked) ?? urls[0];
  const shown = { ...joining, url: chosen.url, pin: pinFor(settings, chosen.url) };
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
      {urls.length > 1 && <UrlChoice urls={urls} chosen={chosen} onChoose={setPicked} />}
      <Commands joining={shown} />
      {chosen.note !== null && (
        <p className="muted" role="note">
          {t(`workers.issued.${chosen.note}`, { host: new URL(chosen.url).host })}
        </p>
      )}
      {isNew && <JoinWait id={id} joining={shown} />}
      <footer className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {t('workers.done')}
        </Button>
      </footer>
    </Dialog>
  );
}

interface UrlChoiceProps {
  readonly urls: readonly JoinUrl[];
  readonly chosen: JoinUrl;
  readonly onChoose: (url: string) => void;
}

function UrlChoice({ urls, chosen, onChoose }: UrlChoiceProps) {
  const t = useT();
  const textOf = ({ url, kind, interface: name }: JoinUrl): string => {
    if (kind === 'public') return t('workers.url.public', { url });
    return name === null ? t('workers.url.page', { url }) : t('workers.url.interface', { url, name });
  };
  return (
    <label>
      {t('workers.url')}
      <select value={chosen.url} onChange={event => onChoose(event.target.value)}>
        {urls.map(each => (
          <option key={each.url} value={each.url}>
            {textOf(each)}
          </option>
        ))}
      </select>
    </label>
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
        <Tabs.Trigger value="pod">{t('workers.issued.pod')}</Tabs.Trigger>
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
      <Tabs.Content value="pod" className="worker-form">
        <p>{t('workers.issued.podRun')}</p>
        <Secret text={podScript(joining)} token={token} label={t('workers.issued.copyScript')} />
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
