import { type ReactNode, useCallback, useState } from 'react';
import { useLocation } from 'wouter';
import type { LaunchView, PoolView } from '../../../protocol/pool.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { usePanel } from '../../app/context.ts';
import { Confirm, TypedConfirm } from '../../ui/dialog.tsx';
import type { MenuItem } from '../../ui/menu.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { Tick } from '../jobs/field.tsx';
import { resumeActOf } from './pool-facts.ts';
import { TestDialog } from './test-dialog.tsx';
import { type PoolTranslator, usePoolT } from './texts.tsx';

export interface PoolActions {
  readonly test: (pool: PoolView) => void;
  readonly resume: (pool: PoolView) => void;
  readonly pause: (pool: PoolView) => void;
  readonly remove: (pool: PoolView) => void;
  readonly open: (path: string) => void;
}

type Shown =
  | { readonly kind: 'pause' | 'remove'; readonly pool: PoolView }
  | { readonly kind: 'test'; readonly pool: PoolView; readonly launch: LaunchView };

/** Returns the actions on pools, and the dialog of the action in progress, which the caller must render. */
export function usePoolActions(): { readonly actions: PoolActions; readonly dialog: ReactNode } {
  const t = usePoolT();
  const { client } = usePanel();
  const [, open] = useLocation();
  const [shown, setShown] = useState<Shown | null>(null);
  const close = (): void => setShown(null);
  const test = useCallback(
    async (pool: PoolView): Promise<void> => {
      const answer = await client.call(poolsApi.test, { params: { id: pool.pool_id } });
      if (answer.ok) setShown({ kind: 'test', pool, launch: answer.value });
      else showFailure(t, answer.failure);
    },
    [client, t],
  );
  const actions: PoolActions = {
    test: pool => void test(pool),
    resume: pool =>
      void client
        .call(poolsApi.resume, { params: { id: pool.pool_id } })
        .then(answer => !answer.ok && showFailure(t, answer.failure)),
    pause: pool => setShown({ kind: 'pause', pool }),
    remove: pool => setShown({ kind: 'remove', pool }),
    open,
  };
  const dialog = shown !== null && (
    <>
      {shown.kind === 'pause' && <PauseDialog pool={shown.pool} onClose={close} />}
      {shown.kind === 'remove' && <DeleteDialog pool={shown.pool} onClose={close} />}
      {shown.kind === 'test' && (
        <TestDialog
          key={shown.launch.launch_id}
          name={shown.pool.name}
          startedLaunch={shown.launch}
          onAgain={() => void test(shown.pool)}
          onClose={close}
        />
      )}
    </>
  );
  return { actions, dialog };
}

/** Returns the items of a pool's menu. */
export function menuOf(pool: PoolView, actions: PoolActions, t: PoolTranslator): readonly MenuItem[] {
  const { pool_id: id, paused, open } = pool;
  const resumes = resumeActOf(pool);
  const path = `/pools/${id}`;
  return [
    { id: 'check', text: t('pools.act.check'), onSelect: () => actions.open(`${path}/check`) },
    { id: 'edit', text: t('pools.act.edit'), onSelect: () => actions.open(`${path}/edit`) },
    ...(paused === null
      ? [{ id: 'pause', text: t('pools.act.pause'), onSelect: () => actions.pause(pool) }]
      : []),
    ...(resumes === null
      ? []
      : [{ id: 'resume', text: t(`pools.act.${resumes}`), onSelect: () => actions.resume(pool) }]),
    {
      id: 'delete',
      text: t('pools.act.delete'),
      isDanger: true,
      reason: open.launches > 0 ? t('pools.act.inUse') : null,
      onSelect: () => actions.remove(pool),
    },
  ];
}

interface PoolDialogProps {
  readonly pool: PoolView;
  readonly onClose: () => void;
}

/** Maximum length of a reason, in characters. */
const maxReason = 500;

function PauseDialog({ pool: { pool_id: id, name, open }, onClose }: PoolDialogProps) {
  const t = usePoolT();
  const { client } = usePanel();
  const [reason, setReason] = useState('');
  const [endsLaunches, setEndsLaunches] = useState(false);
  const pause = (): void => {
    const body = { reason: reason.trim(), end_launches: endsLaunches };
    void client
      .call(poolsApi.pause, { params: { id }, body })
      .then(answer => !answer.ok && showFailure(t, answer.failure));
  };
  return (
    <Confirm
      title={t('pools.pause.title', { name })}
      consequence={t('pools.pause.consequence')}
      act={t('pools.pause.act')}
      onConfirm={pause}
      onClose={onClose}
    >
      <label>
        {t('pools.pause.reason')}
        <input value={reason} maxLength={maxReason} onChange={({ target }) => setReason(target.value)} />
      </label>
      {open.launches > 0 && (
        <Tick label={t('pools.pause.end')} isOn={endsLaunches} onChange={setEndsLaunches} />
      )}
    </Confirm>
  );
}

function DeleteDialog({ pool: { pool_id: id, name }, onClose }: PoolDialogProps) {
  const t = usePoolT();
  const { client } = usePanel();
  const [path, go] = useLocation();
  const remove = (): void =>
    void client.call(poolsApi.remove, { params: { id } }).then(answer => {
      if (!answer.ok) showFailure(t, answer.failure);
      else if (path !== '/pools') go('/pools');
    });
  return (
    <TypedConfirm
      title={t('pools.delete.title', { name })}
      consequence={t('pools.delete.consequence')}
      act={t('pools.delete.act')}
      name={name}
      ask={t('pools.delete.ask', { name })}
      onConfirm={remove}
      onClose={onClose}
    />
  );
}
