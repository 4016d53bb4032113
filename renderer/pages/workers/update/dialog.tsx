import { useState } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import type { UpdateTime } from '../../../../protocol/worker-update.ts';
import { workerUpdatesApi } from '../../../../protocol/worker-updates-api.ts';
import { detailOf } from '../../../api/session.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { UpdateTexts, useUpdateTexts } from '../../../app/update-texts.ts';
import { Dialog, DialogForm } from '../../../ui/dialog.tsx';
import { Effects } from '../bulk/effects.tsx';
import { UpdateCommand } from '../details/notices.tsx';
import { needsCommand, refusalOf, type UpdateAnswers } from './facts.ts';
import { UpdateResults } from './results.tsx';

interface UpdateDialogProps {
  readonly workers: readonly WorkerView[];
  readonly onClose: () => void;
}

/** Asks how to update the workers, then shows the progress of each worker. */
export function UpdateDialog({ workers, onClose }: UpdateDialogProps) {
  const [answers, setAnswers] = useState<UpdateAnswers | null>(null);
  return (
    <UpdateTexts>
      {answers === null ? (
        <Question workers={workers} onAnswer={setAnswers} onClose={onClose} />
      ) : (
        <UpdateResults workers={workers} answers={answers} onClose={onClose} />
      )}
    </UpdateTexts>
  );
}

/** Numbers of workers that may restart at the same time. */
const choices = [1, 2, 4, 8, 16] as const;

function Question({
  workers,
  onAnswer,
  onClose,
}: UpdateDialogProps & { readonly onAnswer: (answers: UpdateAnswers) => void }) {
  const t = useUpdateTexts();
  const { client } = usePanel();
  const [when, setWhen] = useState<UpdateTime>('idle');
  const [atOnce, setAtOnce] = useState(1);
  const able = workers.filter(worker => refusalOf(worker) === null);
  const effectOn = useEffectText(when);
  const version = workers.find(({ update }) => update !== null)?.update?.version ?? '';
  const send = async (): Promise<string | null> => {
    const body = { workers: able.map(({ id }) => id), when, at_once: atOnce };
    const answer = await client.call(workerUpdatesApi.request, { body });
    if (!answer.ok) return detailOf(answer.failure) ?? t('error.unreachable');
    onAnswer(new Map(answer.value.workers.map(each => [each.worker_id, each])));
    return null;
  };
  return (
    <Dialog title={t('update.title', { count: able.length || workers.length })} onClose={onClose}>
      <p>{able.length === 0 ? t('update.none') : t('update.explain', { version })}</p>
      <DialogForm
        act={t('update.act', { count: able.length })}
        send={send}
        onClose={onClose}
        isReady={able.length > 0}
      >
        <Effects workers={workers} effectOn={effectOn} />
        {able.length > 0 && (
          <label>
            {t('update.when')}
            <select value={when} onChange={({ target }) => setWhen(target.value === 'now' ? 'now' : 'idle')}>
              <option value="idle">{t('update.when.idle')}</option>
              <option value="now">{t('update.when.now')}</option>
            </select>
          </label>
        )}
        {able.length > 1 && (
          <label>
            {t('update.atOnce')}
            <select value={atOnce} onChange={({ target }) => setAtOnce(Number(target.value))}>
              {choices.map(count => (
                <option key={count} value={count}>
                  {t('update.atOnce.count', { count })}
                </option>
              ))}
            </select>
          </label>
        )}
        {workers.some(needsCommand) && (
          <p>
            <UpdateCommand />
          </p>
        )}
      </DialogForm>
    </Dialog>
  );
}

/** Returns a function that describes the effect of the update on a worker. */
function useEffectText(when: UpdateTime): (worker: WorkerView) => string {
  const t = useUpdateTexts();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  return worker => {
    const refusal = refusalOf(worker);
    if (refusal !== null) return t(`update.refused.${refusal}`);
    const versions = { from: worker.agent_version ?? '', to: worker.update?.version ?? '' };
    const { current_job_id: id } = worker;
    if (id === null) return t('update.effect', versions);
    const job = jobs.get(id);
    return t(`update.effect.${when}`, { ...versions, job: job === undefined ? id : shownName(job) });
  };
}
