import { workersApi } from '../../../../protocol/admin-api.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { useStartAction } from '../actions.ts';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { sampleTraining } from '../../../../protocol/sample.ts';
import { settingsApi, type SettingsView } from '../../../../protocol/settings-api.ts';
import { useMay, usePanel } from '../../../app/context.ts';
import { type ChangeSettings, useSettings } from '../../../app/settings.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { ActionDialogs } from '../dialogs/action-dialogs.tsx';
import '../workers.css';

/**
 * Instructions for a fleet without workers. Rendered also after the first worker has joined, so that the dialog with the
 * worker's token stays open.
 */
export function FirstRun({ isEmpty }: { readonly isEmpty: boolean }) {
  return (
    <ActionDialogs>
      {isEmpty && (
        <section className="card">
          <EmptyFleet />
        </section>
      )}
    </ActionDialogs>
  );
}

export function EmptyFleet() {
  const t = useT();
  const start = useStartAction();
  return (
    <Empty why={t('workers.empty')}>
      <div className="worker-first-acts">
        <Allowed call={workersApi.create}>
          <Button kind="primary" onClick={() => start({ kind: 'join' })}>
            {t('workers.join')}
          </Button>
        </Allowed>
        <SampleOffer />
      </div>
    </Empty>
  );
}

export function NoMatches({ onClear }: { readonly onClear: () => void }) {
  const t = useT();
  return (
    <Empty why={t('workers.empty.filter')}>
      <Button onClick={onClear}>{t('workers.filter.clear')}</Button>
    </Empty>
  );
}

/**
 * Offers a sample training on the server's own machine. Renders nothing if that machine cannot run it, or if the user
 * lacks a permission for it.
 */
function SampleOffer() {
  const t = useT();
  const may = useMay();
  const { settings, change } = useSettings();
  const { run, isRunning } = useSample(change);
  const [isConfirming, setConfirming] = useState(false);
  if (settings === null || !canRun(settings)) return null;
  const isOn = settings.local_worker.enabled;
  // Starting the sample opens the job's page, so the user must also be allowed to read jobs.
  if (!may(queueApi.submit) || !may(queueApi.get) || (!isOn && !may(settingsApi.change))) return null;
  return (
    <>
      <Button disabled={isRunning} onClick={() => (isOn ? void run(isOn) : setConfirming(true))}>
        {t('workers.sample')}
      </Button>
      {isConfirming && (
        <Dialog title={t('workers.sample.title')} onClose={() => setConfirming(false)}>
          <p>{t('workers.sample.what')}</p>
          <p className="worker-notice" role="note">
            {t('workers.sample.turnsOn')}
          </p>
          <footer className="dialog-foot">
            <Button onClick={() => setConfirming(false)}>{t('action.cancel')}</Button>
            <Button kind="primary" disabled={isRunning} onClick={() => void run(isOn)}>
              {t('workers.sample.run')}
            </Button>
          </footer>
        </Dialog>
      )}
    </>
  );
}

const canRun = ({ local_worker: { has_sample: isThere, enabled, fixed_by: by } }: SettingsView): boolean =>
  isThere && (enabled || by.enabled === null);

/** Returns a function that enables the local worker if necessary, submits the sample job, and opens the job's page. */
function useSample(change: ChangeSettings) {
  const t = useT();
  const { client } = usePanel();
  const [, navigate] = useLocation();
  const [isRunning, setRunning] = useState(false);
  const run = async (isOn: boolean): Promise<void> => {
    setRunning(true);
    const turned = isOn ? null : await change({ local_worker: { enabled: true } });
    if (turned !== null && !turned.ok) {
      setRunning(false);
      return showFailure(t, turned.failure);
    }
    const answer = await client.call(queueApi.submit, { body: { ...sampleTraining, target: 'local' } });
    setRunning(false);
    if (!answer.ok) return showFailure(t, answer.failure);
    navigate(`/jobs/${answer.value.job_id}`);
  };
  return { run, isRunning };
}
