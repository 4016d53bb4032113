import { Tabs } from 'radix-ui';
import { Fragment, type ReactNode, useState, useRef } from 'react';
import type { WorkerId } from '../../../../protocol/ids.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { perLocale } from '../../../i18n/formats.ts';
import { useT } from '../../../i18n/index.ts';
import { Button, Copy } from '../../../ui/button.tsx';
import { useNow } from '../../../ui/time.tsx';
import { showFailure, showToast } from '../../../ui/toast.tsx';
import {
  environmentCommands,
  type Joining,
  podScript,
  serviceCommand,
  shellCommand,
  simpletunerCommand,
  windowsCommands,
  maskToken,
} from './join-commands.ts';
import { requestJoinOffer, type JoinOffer, offerStatus } from './join-offer.ts';
import { joinPhase } from './join-wait.tsx';

interface IssuedCommandsProps {
  readonly id: WorkerId;
  /** Contains the permanent worker token. */
  readonly joining: Joining;
  /** The join token that was issued with it; null when it could not be created. */
  readonly first: JoinOffer | null;
  readonly isNew: boolean;
}

/**
 * Shows the commands that connect a worker. Trainyard's agents use the one-time join token; SimpleTuner's worker needs
 * the permanent worker token.
 */
export function IssuedCommands({ id, joining, first, isNew }: IssuedCommandsProps) {
  const t = useT();
  const [offer, setOffer] = useState(first);
  const once = offer === null ? null : { ...joining, token: offer.token };
  const standing = <OfferLine id={id} offer={offer} isNew={isNew} onNew={setOffer} />;
  return (
    <Tabs.Root defaultValue="shell" className="worker-tabs">
      <Tabs.List className="worker-tabs-list" aria-label={t('workers.issued.tabs')}>
        <Tabs.Trigger value="shell">{t('workers.issued.shell')}</Tabs.Trigger>
        <Tabs.Trigger value="environment">{t('workers.issued.environment')}</Tabs.Trigger>
        <Tabs.Trigger value="service">{t('workers.issued.service')}</Tabs.Trigger>
        <Tabs.Trigger value="pod">{t('workers.issued.pod')}</Tabs.Trigger>
        <Tabs.Trigger value="simpletuner">{t('workers.issued.simpletuner')}</Tabs.Trigger>
      </Tabs.List>
      <OnceTab value="shell" joining={once} standing={standing}>
        {each => (
          <Secret text={shellCommand(each)} token={each.token} label={t('workers.issued.copyCommand')} />
        )}
      </OnceTab>
      <OnceTab value="environment" joining={once} standing={standing}>
        {each => (
          <Secret
            text={environmentCommands(each)}
            token={each.token}
            label={t('workers.issued.copyCommand')}
          />
        )}
      </OnceTab>
      <OnceTab value="service" joining={once} standing={standing}>
        {each => <ServiceCommands joining={each} />}
      </OnceTab>
      <OnceTab value="pod" joining={once} standing={standing}>
        {each => (
          <>
            <p>{t('workers.issued.podRun')}</p>
            <Secret text={podScript(each)} token={each.token} label={t('workers.issued.copyScript')} />
          </>
        )}
      </OnceTab>
      <Tabs.Content value="simpletuner" className="worker-form">
        <p>{t('workers.issued.simpletunerRun')}</p>
        {joining.pin !== null && (
          <p className="notice" role="note">
            {t('workers.issued.simpletunerUnchecked')}
          </p>
        )}
        <Secret
          text={simpletunerCommand(joining)}
          token={joining.token}
          label={t('workers.issued.copyCommand')}
        />
      </Tabs.Content>
    </Tabs.Root>
  );
}

interface OnceTabProps {
  readonly value: string;
  /** Contains the join token; null when there is none. */
  readonly joining: Joining | null;
  readonly standing: ReactNode;
  readonly children: (joining: Joining) => ReactNode;
}

const OnceTab = ({ value, joining, standing, children }: OnceTabProps) => (
  <Tabs.Content value={value} className="worker-form">
    {standing}
    {joining !== null && children(joining)}
  </Tabs.Content>
);

/** Shows commands that install the worker as a service: for the whole machine, for one user, and on Windows. */
function ServiceCommands({ joining }: { readonly joining: Joining }) {
  const t = useT();
  const ways = [
    ['all', serviceCommand(joining, true)],
    ['own', serviceCommand(joining, false)],
    ['windows', windowsCommands(joining)],
  ] as const;
  return (
    <>
      {joining.type === 'ephemeral' && (
        <p className="worker-notice" role="note">
          {t('workers.issued.serviceStays')}
        </p>
      )}
      {ways.map(
        ([way, command]) =>
          command !== null && (
            <Fragment key={way}>
              <p>{t(`workers.issued.service.${way}`)}</p>
              <Secret text={command} token={joining.token} label={t('workers.issued.copyCommand')} />
            </Fragment>
          ),
      )}
    </>
  );
}

const timeOfDay = perLocale({ timeStyle: 'short' });

interface OfferLineProps {
  readonly id: WorkerId;
  readonly offer: JoinOffer | null;
  readonly isNew: boolean;
  readonly onNew: (offer: JoinOffer) => void;
}

/**
 * Says until when the command works, and can replace an expired join token. Renders nothing once the worker has joined.
 */
function OfferLine({ id, offer, isNew, onNew }: OfferLineProps) {
  const t = useT();
  const { client } = usePanel();
  const worker = useFleet(state => state.fleet.workers.get(id));
  const now = useNow(1_000);
  const [isRequesting, setRequesting] = useState(false);
  if (isNew && joinPhase(worker) !== 'listening') return null;
  const renew = async (): Promise<void> => {
    setRequesting(true);
    const made = await requestJoinOffer(client, id);
    setRequesting(false);
    if (made.ok) onNew(made.value);
    else showFailure(t, made.failure);
  };
  const standing = offerStatus(offer, now);
  const time = offer === null ? '' : timeOfDay(t).format(offer.until);
  return (
    <p className="worker-offer" data-standing={standing}>
      <span role="status">
        {standing === 'missing' ? t('workers.join.missing') : t(`workers.join.${standing}`, { time })}
      </span>
      {standing !== 'open' && (
        <Button disabled={isRequesting} onClick={() => void renew()}>
          {t('workers.join.again')}
        </Button>
      )}
    </p>
  );
}

interface SecretProps {
  readonly text: string;
  readonly token: string;
  /** Label of the copy button. */
  readonly label: string;
}

/** Shows a command with the token hidden. Copying it includes the token. */
function Secret({ text, token, label }: SecretProps) {
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
        {isShown ? text : maskToken(text, token)}
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
