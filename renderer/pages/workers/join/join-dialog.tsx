import { useState } from 'react';
import { workersApi } from '../../../../protocol/admin-api.ts';
import { settingsApi, type SettingsView } from '../../../../protocol/settings-api.ts';
import type { WorkerType } from '../../../../protocol/worker.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { useSettings, type ChangeSettings, ShareTerms } from '../../../app/settings.tsx';
import { useT } from '../../../i18n/index.ts';
import { Dialog, DialogForm } from '../../../ui/dialog.tsx';
import { useStartAction } from '../actions.ts';
import { isLoopback } from './join-commands.ts';
import { requestJoinOffer } from './join-offer.ts';
import { parseLabels } from '../labels.tsx';
import { Button } from '../../../ui/button.tsx';

interface JoinDialogProps {
  readonly onClose: () => void;
}

/**
 * Adds a worker in steps. If no other machine can reach the server, the dialog first offers to share the server. Then it
 * asks for the worker's properties, and starts the dialog with the commands.
 */
export function JoinDialog({ onClose }: JoinDialogProps) {
  const t = useT();
  const { baseUrl, may } = usePanel();
  const { settings, isRead, change } = useSettings();
  const [isSkipped, setSkipped] = useState(false);
  const isOnlyHere =
    settings !== null &&
    may(settingsApi.change) &&
    !settings.network.shared &&
    settings.network.fixed_by === null &&
    settings.public_url === null &&
    isLoopback(new URL(baseUrl).hostname);
  return (
    <Dialog title={t('workers.new.title')} onClose={onClose}>
      {isRead && isOnlyHere && !isSkipped && (
        <ShareStep network={settings.network} change={change} onSkip={() => setSkipped(true)} />
      )}
      {isRead && (!isOnlyHere || isSkipped) && <JoinForm onClose={onClose} />}
    </Dialog>
  );
}

interface ShareStepProps {
  readonly network: SettingsView['network'];
  readonly change: ChangeSettings;
  readonly onSkip: () => void;
}

/** Offers to share the orchestrator with other machines. The parent shows the next step when the settings have changed. */
function ShareStep({ network, change, onSkip }: ShareStepProps) {
  const t = useT();
  const { tls, tls_fixed_by: tlsFixedBy } = network;
  const isSecure = tls !== null;
  const [withTls, setWithTls] = useState(isSecure || tlsFixedBy === null);
  const [isRequesting, setRequesting] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const share = async (): Promise<void> => {
    setRequesting(true);
    const answer = await change({ shared: true, ...(withTls !== isSecure && { tls: withTls }) });
    setRequesting(false);
    if (!answer.ok) setTrouble(detailOf(answer.failure) ?? t('error.unreachable'));
  };
  return (
    <>
      <p>{t('workers.share.private')}</p>
      <ShareTerms withTls={withTls} isTlsFixed={tlsFixedBy !== null} onChange={setWithTls} />
      {trouble !== null && (
        <p role="alert" className="trouble">
          {trouble}
        </p>
      )}
      <footer className="dialog-foot">
        <Button onClick={onSkip}>{t('workers.share.notNow')}</Button>
        <Button kind="primary" disabled={isRequesting} onClick={() => void share()}>
          {t('settings.share')}
        </Button>
      </footer>
    </>
  );
}

const types = ['persistent', 'ephemeral'] as const satisfies readonly WorkerType[];

function JoinForm({ onClose }: JoinDialogProps) {
  const t = useT();
  const start = useStartAction();
  const { client, baseUrl } = usePanel();
  const [name, setName] = useState('');
  const [type, setType] = useState<WorkerType>('persistent');
  const [labels, setLabels] = useState('');
  const create = async (): Promise<string | null> => {
    const read = parseLabels(labels);
    if (!read.ok) return t('workers.edit.badLabel', { line: read.line });
    const body = { name: name.trim(), worker_type: type, labels: read.labels };
    const answer = await client.call(workersApi.create, { body });
    if (!answer.ok) return detailOf(answer.failure) ?? t('error.unreachable');
    const { worker_id: id, token, name: given } = answer.value;
    const offer = await requestJoinOffer(client, id);
    start({
      kind: 'issued',
      id,
      joining: { url: baseUrl, token, name: given, type },
      offer: offer.ok ? offer.value : null,
      isNew: true,
    });
    return null;
  };
  return (
    <DialogForm act={t('workers.new.create')} send={create} onClose={onClose}>
      <label>
        {t('workers.new.name')}
        <input
          required
          maxLength={100}
          placeholder="rig-3"
          autoComplete="off"
          value={name}
          onChange={event => setName(event.target.value)}
        />
      </label>
      <fieldset className="worker-choice">
        <legend>{t('workers.new.type')}</legend>
        {types.map(each => (
          <label key={each} className="worker-inline-label">
            <input type="radio" name="type" checked={each === type} onChange={() => setType(each)} />
            {t(`workers.new.${each}`)}
          </label>
        ))}
      </fieldset>
      <label>
        {t('workers.new.labels')}
        <textarea
          className="mono"
          rows={3}
          spellCheck={false}
          placeholder="team=nlp"
          value={labels}
          onChange={event => setLabels(event.target.value)}
        />
      </label>
    </DialogForm>
  );
}
