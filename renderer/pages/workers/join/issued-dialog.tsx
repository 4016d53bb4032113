import { lazy, Suspense, useState } from 'react';
import type { ProgramName } from '../../../../protocol/agent-api.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import { pinFor } from '../../../../protocol/settings-api.ts';
import { useSettings } from '../../../app/settings.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { IssuedCommands } from './issued-commands.tsx';
import type { Joining } from './join-commands.ts';
import type { JoinOffer } from './join-offer.ts';
import { type JoinUrl, joinUrls } from './join-urls.ts';
import { usePrograms } from '../server-version.ts';
import { JoinWait } from './join-wait.tsx';
import { JoinTexts, useJoinT } from './texts.tsx';
import { loadPart } from '../../../app/part.ts';
import { Boundary, explainFailure } from '../../../app/unavailable.tsx';

interface IssuedDialogProps {
  readonly id: WorkerId;
  /**
   * The data for joining, with the permanent worker token. The pin is missing, because it depends on the URL that the
   * user selects.
   */
  readonly joining: Omit<Joining, 'pin'>;
  readonly offer: JoinOffer | null;
  readonly isNew: boolean;
  readonly onClose: () => void;
}

const PhoneAccess = lazy(() =>
  loadPart(async () => ({ default: (await import('./phone.tsx')).PhoneAccess })),
);

/**
 * Shows the commands for a new worker or a new token. Only the button closes the dialog, because the token cannot be
 * shown again.
 */
export const IssuedDialog = (props: IssuedDialogProps) => (
  <Suspense fallback={null}>
    <JoinTexts>
      <Issued {...props} />
    </JoinTexts>
  </Suspense>
);

function Issued({ id, joining, offer, isNew, onClose }: IssuedDialogProps) {
  const t = useT();
  const { settings } = useSettings();
  const programs = usePrograms();
  const [picked, setPicked] = useState<string | null>(null);
  const { name } = joining;
  const urls = joinUrls(settings, joining.url);
  const chosen = urls.find(({ url }) => url === picked) ?? urls[0];
  const pin = settings && pinFor(settings.network, chosen.url);
  const hashOf = (program: ProgramName): string | null =>
    programs?.programs.find(each => each.name === program)?.sha256 ?? null;
  const shown = {
    ...joining,
    url: chosen.url,
    pin,
    script: programs?.sha256.install ?? null,
    isShort: (programs?.join_path ?? null) !== null,
    bundle: hashOf('trainyard-worker.mjs'),
    windowsExecutable: hashOf('trainyard-worker-win32-x64.exe'),
  };
  return (
    <Dialog
      title={t(isNew ? 'workers.issued.title' : 'workers.rotated.title', { name })}
      onClose={onClose}
      staysOpen
    >
      <p className="worker-notice" role="note">
        {t('workers.issued.once')}
      </p>
      {urls.length > 1 && <UrlChoice urls={urls} chosen={chosen} onChoose={setPicked} />}
      <IssuedCommands id={id} joining={shown} first={offer} isNew={isNew} programs={programs} />
      {chosen.note !== null && (
        <p className="muted" role="note">
          {t(`workers.issued.${chosen.note}`, { host: new URL(chosen.url).host })}
        </p>
      )}
      {isNew && <JoinWait id={id} joining={shown} />}
      {isNew && <OnPhone />}
      <footer className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {t('workers.done')}
        </Button>
      </footer>
    </Dialog>
  );
}

function OnPhone() {
  const t = useJoinT();
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="worker-phone" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t('phone.open')}</summary>
      {isOpen && (
        <Boundary onFailure={explainFailure}>
          <Suspense fallback={<div aria-busy="true" />}>
            <PhoneAccess />
          </Suspense>
        </Boundary>
      )}
    </details>
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
