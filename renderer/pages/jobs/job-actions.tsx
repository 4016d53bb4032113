import { createContext, type ReactNode, useContext, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import type { CallFailure } from '../../../protocol/client.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { isWaiting, type JobView, isFinal } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { RequestKind } from '../../../protocol/requests.ts';
import { templateWrites } from '../../../protocol/template-access.ts';
import { sendWhileUnloading, type May } from '../../api/session.ts';
import { type Panel, usePanel } from '../../app/context.ts';
import { type Translator, useT, type MessageKey } from '../../i18n/index.ts';
import type { MenuItem } from '../../ui/menu.tsx';
import { showToast, showFailure, showUndo } from '../../ui/toast.tsx';
import { type ActionToConfirm, ActionDialog } from './action-dialogs.tsx';
import type { Call } from '../../../protocol/call.ts';

/** All actions on jobs, in the order of the menu. */
export const jobActions = [
  'save',
  'sample',
  'cancel',
  'retry',
  'duplicate',
  'template',
  'priority',
  'top',
  'approve',
  'reject',
  'delete',
] as const;
type JobAction = (typeof jobActions)[number];

const calls = {
  save: queueApi.ask,
  sample: queueApi.ask,
  cancel: queueApi.cancel,
  retry: queueApi.retry,
  duplicate: queueApi.submit,
  template: templateWrites,
  priority: queueApi.setPriority,
  top: queueApi.moveToTop,
  approve: queueApi.approve,
  reject: queueApi.reject,
  delete: queueApi.remove,
} as const satisfies Readonly<Record<JobAction, Pick<Call, 'authority' | 'own'>>>;

/** Returns true when the user may perform at least one action on jobs. */
export const mayActOnJobs = (may: May): boolean => Object.values(calls).some(call => may(call));

/**
 * Returns true when the action is shown in the menu. The menu hides forbidden actions, approvals that the job does not
 * need, and requests that the trainer does not support.
 * @internal
 */
export const isOffered = (act: JobAction, job: JobView, may: May): boolean =>
  may(calls[act], job) && isApplicable(act, job);

function isApplicable(act: JobAction, job: JobView): boolean {
  if (act === 'approve' || act === 'reject') return isWaiting(job.status) && job.approval === 'wanted';
  return (act !== 'save' && act !== 'sample') || (job.status === 'running' && job.requests.includes(act));
}

/** Returns why the action is not possible now; null when it is. The server makes the final decision. @internal */
export function unavailableReason(act: JobAction, job: JobView): MessageKey | null {
  switch (act) {
    case 'cancel':
      if (isFinal(job.status)) return 'jobs.not.ended';
      return job.status === 'cancelling' ? 'jobs.not.cancelling' : null;
    case 'retry':
    case 'delete':
      return isFinal(job.status) ? null : 'jobs.not.goesOn';
    case 'priority':
    case 'top':
      return isWaiting(job.status) ? null : 'jobs.not.waits';
    case 'save':
    case 'sample':
    case 'duplicate':
    case 'template':
    case 'approve':
    case 'reject':
      return null;
  }
}

/** Actions that the page of a job shows as buttons. */
const buttonActions = ['approve', 'reject', 'save', 'sample', 'duplicate', 'cancel'] as const;
type ButtonAction = (typeof buttonActions)[number];

/** Returns the actions to show as buttons: those that the user may perform and that are possible now. */
export const buttonsFor = (job: JobView, may: May): readonly ButtonAction[] =>
  buttonActions.filter(act => isOffered(act, job, may) && unavailableReason(act, job) === null);

/** Performs actions on jobs. Components get this object from `useJobActions`. */
export interface JobActions {
  /** Returns the menu items for a job. `elsewhere` lists actions that the page already shows outside the menu. */
  readonly menuOf: (job: JobView, elsewhere?: readonly string[]) => readonly MenuItem[];
  readonly perform: (act: JobAction | 'release', job: JobView) => void;
  /** Requests an action from the trainer. Returns the failure, which the caller shows; null for none. */
  readonly request: (what: RequestKind, job: JobView) => Promise<CallFailure | null>;
}

const JobActionsContext = createContext<JobActions | null>(null);

export function useJobActions(): JobActions {
  const actions = useContext(JobActionsContext);
  if (actions === null) throw new Error('useJobActions needs a JobActionsProvider around the component');
  return actions;
}

const undoMs = 5_000;

export function JobActionsProvider({ children }: { readonly children: ReactNode }) {
  const t = useT();
  const panel = usePanel();
  const [, go] = useLocation();
  const [toConfirm, setToConfirm] = useState<ActionToConfirm | null>(null);
  const pendingCancels = useRef(new Set<JobId>());
  const actions = useMemo((): JobActions => {
    const { perform, request } = createPerformer({
      t,
      panel,
      go,
      onConfirm: setToConfirm,
      pendingCancels: pendingCancels.current,
    });
    const menuOf: JobActions['menuOf'] = (job, elsewhere = []) =>
      jobActions
        .filter(act => isOffered(act, job, panel.may) && !elsewhere.includes(act))
        .map(act => {
          const reason = unavailableReason(act, job);
          return {
            id: act,
            text: t(`jobs.act.${act}`),
            reason: reason === null ? null : t(reason),
            isDanger: act === 'cancel' || act === 'delete' || act === 'reject',
            onSelect: () => perform(act, job),
          };
        });
    return { menuOf, perform, request };
  }, [t, panel, go]);
  return (
    <JobActionsContext value={actions}>
      {children}
      {toConfirm !== null && <ActionDialog action={toConfirm} onClose={() => setToConfirm(null)} />}
    </JobActionsContext>
  );
}

interface PerformerDeps {
  readonly t: Translator;
  readonly panel: Panel;
  readonly go: (path: string) => void;
  /** Opens the dialog that confirms the action. */
  readonly onConfirm: (action: ActionToConfirm) => void;
  /** Jobs whose cancellation can still be undone, so that each has only one toast. */
  readonly pendingCancels: Set<JobId>;
}

function createPerformer({
  t,
  panel: { client, baseUrl },
  go,
  onConfirm,
  pendingCancels,
}: PerformerDeps): Pick<JobActions, 'perform' | 'request'> {
  const failed = (failure: CallFailure): void => showFailure(t, failure);
  const cancelLater = (job: JobView): void => {
    const { id } = job;
    if (pendingCancels.has(id)) return;
    pendingCancels.add(id);
    showUndo({
      text: t('jobs.cancel.later', { config: shownName(job), seconds: undoMs / 1000 }),
      undo: t('jobs.cancel.undo'),
      afterMs: undoMs,
      onDone: () => pendingCancels.delete(id),
      act: isLeaving => {
        if (isLeaving) return sendWhileUnloading(baseUrl, queueApi.cancel, { id });
        return void client
          .call(queueApi.cancel, { params: { id } })
          .then(answer => !answer.ok && failed(answer.failure));
      },
    });
  };
  const retry = async ({ id }: JobView): Promise<void> => {
    const answer = await client.call(queueApi.retry, { params: { id } });
    if (!answer.ok) failed(answer.failure);
    else if (answer.value.job_id !== null) showToast(t('jobs.retried', { id: answer.value.job_id }));
  };
  const send = async (call: typeof queueApi.moveToTop, { id }: JobView): Promise<void> => {
    const answer = await client.call(call, { params: { id } });
    if (!answer.ok) failed(answer.failure);
  };
  const request: JobActions['request'] = async (what, { id, worker_name: name, worker_id: worker }) => {
    const answer = await client.call(queueApi.ask, { params: { id }, body: { what } });
    if (!answer.ok) return answer.failure;
    const messageKey = answer.value.duplicate ? 'jobs.asked.again' : (`jobs.asked.${what}` as const);
    showToast(t(messageKey, { worker: name ?? worker ?? t('jobs.cancel.nowhere') }));
    return null;
  };
  const perform: JobActions['perform'] = (act, job) => {
    if (act === 'save' || act === 'sample')
      return void request(act, job).then(failure => failure !== null && failed(failure));
    if (act === 'duplicate') return go(`/jobs/new?from=${job.id}`);
    if (act === 'template') return go(`/jobs/new?from=${job.id}&save`);
    if (act === 'retry') return void retry(job);
    if (act === 'top') return void send(queueApi.moveToTop, job);
    if (act === 'approve') return void send(queueApi.approve, job);
    if (act === 'cancel' && isWaiting(job.status)) return cancelLater(job);
    return onConfirm({ act, job });
  };
  return { perform, request };
}
