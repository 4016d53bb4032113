import { Tabs } from 'radix-ui';
import { Fragment, type ReactNode, useState } from 'react';
import type { AgentManifest } from '../../../../protocol/agent-api.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import { useT } from '../../../i18n/index.ts';
import { Effects } from './effects.tsx';
import {
  environmentCommands,
  type Joining,
  podScript,
  serviceCommand,
  shellCommand,
  simpletunerCommand,
} from './join-commands.ts';
import type { JoinOffer } from './join-offer.ts';
import { OfferLine } from './offer-line.tsx';
import { Secret } from './secret.tsx';
import { useJoinT } from './texts.tsx';
import { WindowsCommands } from './windows.tsx';

interface IssuedCommandsProps {
  readonly id: WorkerId;
  /** The data for joining, with the permanent worker token. */
  readonly joining: Joining;
  /** The join token that was issued together with the worker token; null if it could not be created. */
  readonly first: JoinOffer | null;
  readonly isNew: boolean;
  /** The worker programs that the server provides; null if unknown. */
  readonly programs: AgentManifest | null;
}

/**
 * Shows the commands that connect a worker. Trainyard's agents use the one-time join token; SimpleTuner's worker needs
 * the permanent worker token.
 */
export function IssuedCommands({ id, joining, first, isNew, programs }: IssuedCommandsProps) {
  const t = useT();
  const joinT = useJoinT();
  const [offer, setOffer] = useState(first);
  const withJoinToken = offer === null ? null : { ...joining, token: offer.token };
  const offerLine = <OfferLine id={id} offer={offer} isNew={isNew} onNew={setOffer} />;
  return (
    <Tabs.Root defaultValue="shell" className="worker-tabs">
      <Tabs.List className="worker-tabs-list" aria-label={t('workers.issued.tabs')}>
        <Tabs.Trigger value="shell">{t('workers.issued.shell')}</Tabs.Trigger>
        <Tabs.Trigger value="windows">{joinT('windows.tab')}</Tabs.Trigger>
        <Tabs.Trigger value="environment">{t('workers.issued.environment')}</Tabs.Trigger>
        <Tabs.Trigger value="service">{t('workers.issued.service')}</Tabs.Trigger>
        <Tabs.Trigger value="pod">{t('workers.issued.pod')}</Tabs.Trigger>
        <Tabs.Trigger value="simpletuner">{t('workers.issued.simpletuner')}</Tabs.Trigger>
      </Tabs.List>
      <JoinTokenTab value="shell" joining={withJoinToken} offerLine={offerLine}>
        {each => (
          <>
            <Effects joining={each} programs={programs} />
            <p>{t('workers.issued.run')}</p>
            <Secret text={shellCommand(each)} token={each.token} label={t('workers.issued.copyCommand')} />
          </>
        )}
      </JoinTokenTab>
      <JoinTokenTab value="windows" joining={withJoinToken} offerLine={offerLine}>
        {each => <WindowsCommands joining={each} />}
      </JoinTokenTab>
      <JoinTokenTab value="environment" joining={withJoinToken} offerLine={offerLine}>
        {each => (
          <Secret
            text={environmentCommands(each)}
            token={each.token}
            label={t('workers.issued.copyCommand')}
          />
        )}
      </JoinTokenTab>
      <JoinTokenTab value="service" joining={withJoinToken} offerLine={offerLine}>
        {each => <ServiceCommands joining={each} programs={programs} />}
      </JoinTokenTab>
      <JoinTokenTab value="pod" joining={withJoinToken} offerLine={offerLine}>
        {each => (
          <>
            <p>{t('workers.issued.podRun')}</p>
            <Secret text={podScript(each)} token={each.token} label={t('workers.issued.copyScript')} />
          </>
        )}
      </JoinTokenTab>
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

interface JoinTokenTabProps {
  readonly value: string;
  /** The data for joining, with the join token; null if there is no join token. */
  readonly joining: Joining | null;
  /** A line that shows when the join token expires. */
  readonly offerLine: ReactNode;
  readonly children: (joining: Joining) => ReactNode;
}

const JoinTokenTab = ({ value, joining, offerLine, children }: JoinTokenTabProps) => (
  <Tabs.Content value={value} className="worker-form">
    {joining !== null && children(joining)}
    {offerLine}
  </Tabs.Content>
);

interface ServiceCommandsProps {
  readonly joining: Joining;
  readonly programs: AgentManifest | null;
}

/** Shows two commands that install the worker as a service: one for the whole machine, and one for the current user. */
function ServiceCommands({ joining, programs }: ServiceCommandsProps) {
  const t = useT();
  const ways = [
    ['all', serviceCommand(joining, true)],
    ['own', serviceCommand(joining, false)],
  ] as const;
  return (
    <>
      {joining.type === 'ephemeral' && (
        <p className="worker-notice" role="note">
          {t('workers.issued.serviceStays')}
        </p>
      )}
      <Effects joining={joining} programs={programs} isService />
      {ways.map(([way, command]) => (
        <Fragment key={way}>
          <p>{t(`workers.issued.service.${way}`)}</p>
          <Secret text={command} token={joining.token} label={t('workers.issued.copyCommand')} />
        </Fragment>
      ))}
    </>
  );
}
