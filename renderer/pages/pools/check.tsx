import { useCallback, useEffect, useState } from 'react';
import type { CallFailure } from '../../../protocol/client.ts';
import type { PoolId } from '../../../protocol/ids.ts';
import type { EngineCheck } from '../../../protocol/pool.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { detailOf } from '../../api/session.ts';
import { usePanel } from '../../app/context.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { usePoolT } from './texts.tsx';

/** Timeout of a check in ms. An engine can take up to two minutes to answer. */
const timeoutMs = 130_000;

interface CheckState {
  readonly answer: EngineCheck | null;
  readonly failure: CallFailure | null;
  readonly isChecking: boolean;
}

const checking: CheckState = { answer: null, failure: null, isChecking: true };

interface CheckProps {
  readonly id: PoolId;
  /** Called when the user chooses a queue. If absent, the table has no buttons. */
  readonly onUse?: (queue: string) => void;
}

/** Checks the engine of a pool on the first render, and shows its queues with their limits. */
export function CheckResult({ id, onUse }: CheckProps) {
  const t = usePoolT();
  const { client } = usePanel();
  const [state, setState] = useState(checking);
  const check = useCallback(
    async (signal?: AbortSignal): Promise<void> => {
      setState(checking);
      const input = { params: { id }, timeoutMs, ...(signal && { signal }) };
      const result = await client.call(poolsApi.check, input);
      if (signal?.aborted === true) return;
      setState({
        answer: result.ok ? result.value : null,
        failure: result.ok ? null : result.failure,
        isChecking: false,
      });
    },
    [client, id],
  );
  useEffect(() => {
    const controller = new AbortController();
    void check(controller.signal);
    return () => controller.abort();
  }, [check]);
  const { answer, failure, isChecking } = state;
  return (
    <div className="pool-check" role="status">
      {isChecking && <p className="muted">{t('pools.check.asking')}</p>}
      {failure !== null && <p className="trouble">{detailOf(failure) ?? t('error.unreachable')}</p>}
      {answer !== null && <CheckAnswer answer={answer} {...(onUse && { onUse })} />}
      {!isChecking && (
        <div>
          <Button onClick={() => void check()}>{t('pools.check.again')}</Button>
        </div>
      )}
    </div>
  );
}

function CheckAnswer({
  answer,
  onUse,
}: {
  readonly answer: EngineCheck;
  readonly onUse?: CheckProps['onUse'];
}) {
  const t = usePoolT();
  const { ok: isOk, version, detail, queues } = answer;
  return (
    <>
      <p className="pool-answer">
        <span className="state" data-state={isOk ? 'completed' : 'failed'}>
          <Icon name={isOk ? 'completed' : 'failed'} />
          {t(isOk ? 'pools.check.ok' : 'pools.check.failed')}
        </span>{' '}
        {version !== null && <span className="muted">{t('pools.check.version', { version })}</span>}
      </p>
      {detail !== '' && <p className={isOk ? '' : 'trouble'}>{detail}</p>}
      {queues.length > 0 && (
        <table className="pool-queues">
          <thead>
            <tr>
              <th scope="col">{t('pools.check.queue')}</th>
              <th scope="col">{t('pools.check.limits')}</th>
              {onUse !== undefined && (
                <th scope="col">
                  <span className="unseen">{t('pools.check.use')}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {queues.map(({ name, limits }) => (
              <tr key={name}>
                <td className="mono">{name}</td>
                <td>{limits}</td>
                {onUse !== undefined && (
                  <td>
                    <Button aria-label={t('pools.check.useOf', { name })} onClick={() => onUse(name)}>
                      {t('pools.check.use')}
                    </Button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
