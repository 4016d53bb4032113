import type { WorkerView } from '../../../../protocol/worker.ts';
import { workerUpdatesApi } from '../../../../protocol/worker-updates-api.ts';
import { usePanel } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { UpdateTexts, useUpdateTexts } from '../../../app/update-texts.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Time } from '../../../ui/time.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { useStartAction } from '../actions.ts';
import { UpdateCommand } from '../details/notices.tsx';
import { isCancellable, isUpdating, needsCommand, refusalOf } from './facts.ts';

interface NoticeProps {
  readonly worker: WorkerView;
}

/** Shows a requested or an available update of a worker, with its actions. Renders nothing if there is neither. */
export function UpdateNotice({ worker }: NoticeProps) {
  return (
    <UpdateTexts>
      {worker.update?.order ? <Order worker={worker} /> : <Available worker={worker} />}
    </UpdateTexts>
  );
}

function Order({ worker }: NoticeProps) {
  const t = useUpdateTexts();
  const shared = useT();
  const { client } = usePanel();
  const start = useStartAction();
  const order = worker.update?.order;
  if (!order) return null;
  const state = t(`update.state.${order.state}`, { reason: order.reason ?? '' });
  const cancel = (): void =>
    void client.call(workerUpdatesApi.cancel, { params: { id: worker.id } }).then(answer => {
      if (!answer.ok) showFailure(shared, answer.failure);
    });
  return (
    <div className="worker-notice" role="note">
      <span aria-live="polite">{t('update.notice.active', { version: order.version, state })}</span>
      <span className="muted worker-notice-since">
        {t('update.notice.by', { by: order.by })} · <Time at={order.since} />
      </span>
      <Allowed call={workerUpdatesApi.cancel}>
        <span className="worker-notice-more worker-acts">
          {!isUpdating(worker) && refusalOf(worker) === null && (
            <Button onClick={() => start({ kind: 'update', workers: [worker] })}>{t('update.again')}</Button>
          )}
          {!isUpdating(worker) && <Button onClick={cancel}>{t('update.dismiss')}</Button>}
          {isCancellable(worker) && <Button onClick={cancel}>{t('update.cancel')}</Button>}
        </span>
      </Allowed>
    </div>
  );
}

function Available({ worker }: NoticeProps) {
  const t = useUpdateTexts();
  const start = useStartAction();
  const { update, agent_version: from } = worker;
  if (update?.available !== true) return null;
  const refusal = refusalOf(worker);
  const versions = { from: from ?? '', to: update.version };
  return (
    <div className="worker-notice" role="note">
      <span>
        {t(from === update.version ? 'update.notice.rebuilt' : 'update.notice.available', versions)}
      </span>
      {refusal === null ? (
        <Allowed call={workerUpdatesApi.request}>
          <Button onClick={() => start({ kind: 'update', workers: [worker] })}>{t('update.button')}</Button>
        </Allowed>
      ) : (
        <span className="worker-notice-more">
          {t('update.notice.blocked', { why: t(`update.refused.${refusal}`) })}
        </span>
      )}
      {needsCommand(worker) && <UpdateCommand />}
    </div>
  );
}
