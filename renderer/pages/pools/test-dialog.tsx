import { useEffect, useState } from 'react';
import type { LaunchView } from '../../../protocol/pool.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { usePanel } from '../../app/context.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { failureOfTest, iconOf, isOpen } from './launch-facts.ts';
import { launchStateText, PhaseStrip } from './launches.tsx';
import { type PoolTranslator, usePoolT } from './texts.tsx';

/** Interval between reads. It is short, because a test takes seconds and the dialog shows its phases in seconds. */
const pollMs = 1_000;

interface TestDialogProps {
  readonly name: string;
  /** The launch of the test when the dialog opened. */
  readonly startedLaunch: LaunchView;
  readonly onAgain: () => void;
  readonly onClose: () => void;
}

/** Follows the launch of a test until it has ended. Closing the dialog does not end the test. */
export function TestDialog({ name, startedLaunch, onAgain, onClose }: TestDialogProps) {
  const t = usePoolT();
  const { client } = usePanel();
  const [launch, setLaunch] = useState(startedLaunch);
  useFollowed(launch, setLaunch);
  const end = (): void =>
    void client
      .call(poolsApi.endLaunch, { params: { id: launch.launch_id } })
      .then(answer => !answer.ok && showFailure(t, answer.failure));
  return (
    <Dialog title={t('pools.test.title', { name })} onClose={onClose} staysOpen>
      <p className="muted">{t('pools.test.what')}</p>
      <TestProgress launch={launch} />
      <footer className="dialog-foot">
        {isOpen(launch) ? (
          <Button disabled={launch.state === 'ending'} onClick={end}>
            {t('pools.test.end')}
          </Button>
        ) : (
          <Button onClick={onAgain}>{t('pools.test.again')}</Button>
        )}
      </footer>
    </Dialog>
  );
}

/** Reads the launch at intervals until it has ended. Ignores failed reads, because the next read follows soon. */
function useFollowed(launch: LaunchView, onLaunch: (launch: LaunchView) => void): void {
  const { client } = usePanel();
  const id = launch.launch_id;
  const isRunning = isOpen(launch);
  useEffect(() => {
    if (!isRunning) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setInterval(async () => {
      const answer = await client.call(poolsApi.launch, { params: { id }, signal });
      if (answer.ok && !signal.aborted) onLaunch(answer.value);
    }, pollMs);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [client, id, isRunning, onLaunch]);
}

function TestProgress({ launch }: { readonly launch: LaunchView }) {
  const t = usePoolT();
  const { detail, reason, machines } = launch;
  const why = reason === null ? detail : `${t(`pools.reason.${reason.kind}`)} (${reason.text})`;
  return (
    <div className="pool-test">
      <div role="status">
        {isOpen(launch) ? (
          <span className="state" data-state={iconOf(launch)}>
            <Icon name={iconOf(launch)} />
            {launchStateText(launch, t)}
          </span>
        ) : (
          <TestResult launch={launch} />
        )}
      </div>
      <PhaseStrip launch={launch} />
      {why !== null && <p className={isOpen(launch) ? 'muted' : ''}>{why}</p>}
      {machines.length > 0 && (
        <p className="muted">{t('pools.test.machine', { machines: machines.join(', ') })}</p>
      )}
    </div>
  );
}

function TestResult({ launch }: { readonly launch: LaunchView }) {
  const t = usePoolT();
  const failure = failureOfTest(launch);
  if (failure === null)
    return (
      <span className="state pool-verdict" data-state="completed">
        <Icon name="completed" />
        {t('pools.test.passed')}
      </span>
    );
  return (
    <>
      <span className="state pool-verdict" data-state="failed">
        <Icon name="failed" />
        {t('pools.test.failed', { outcome: t(`pools.outcome.${failure}`) })}
      </span>
      <p>{remedyOf(failure, t)}</p>
    </>
  );
}

function remedyOf(failure: NonNullable<LaunchView['outcome']>, t: PoolTranslator): string {
  switch (failure) {
    case 'rejected':
    case 'never_joined':
    case 'failed':
    case 'preempted':
    case 'timeout':
    case 'unknown':
      return t(`pools.test.remedy.${failure}`);
    case 'finished':
    case 'not_needed':
    case 'cancelled':
      return t('pools.test.remedy.again');
  }
}
