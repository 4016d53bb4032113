import type { WorkerView } from '../../../protocol/worker.ts';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { Call } from '../../../protocol/call.ts';
import { workerUpdatesApi } from '../../../protocol/worker-updates-api.ts';
import { useMay, usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Menu, type MenuItem } from '../../ui/menu.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { useStartAction } from './actions.ts';
import { undeletableReason } from './facts.ts';
import { isUpdatable } from './update/facts.ts';

/** Returns a function that ends a drain or a quarantine, without confirmation because this action destroys nothing. */
export function useRevert() {
  const { client } = usePanel();
  const t = useT();
  return (what: 'undrain' | 'unquarantine', { id }: WorkerView): void => {
    void client.call(workersApi[what], { params: { id } }).then(answer => {
      if (!answer.ok) showFailure(t, answer.failure);
    });
  };
}

export function WorkerMenu({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const may = useMay();
  const start = useStartAction();
  const revert = useRevert();
  const why = undeletableReason(worker);
  const unquarantine = {
    id: 'unquarantine',
    call: workersApi.unquarantine,
    text: t('workers.act.unquarantine'),
    onSelect: () => revert('unquarantine', worker),
  };
  const update = {
    id: 'update',
    call: workerUpdatesApi.request,
    text: t('workers.act.update'),
    onSelect: () => start({ kind: 'update', workers: [worker] }),
  };
  const items: readonly (MenuItem & { readonly call: Call })[] = [
    worker.drain === null
      ? {
          id: 'drain',
          call: workersApi.drain,
          text: t('workers.act.drain'),
          onSelect: () => start({ kind: 'drain', worker }),
        }
      : {
          id: 'undrain',
          call: workersApi.undrain,
          text: t('workers.act.undrain'),
          onSelect: () => revert('undrain', worker),
        },
    ...(worker.quarantine === null ? [] : [unquarantine]),
    ...(isUpdatable(worker) ? [update] : []),
    {
      id: 'edit',
      call: workersApi.update,
      text: t('workers.act.edit'),
      onSelect: () => start({ kind: 'edit', worker }),
    },
    {
      id: 'rotate',
      call: workersApi.rotateToken,
      text: t('workers.act.rotate'),
      onSelect: () => start({ kind: 'rotate', worker }),
    },
    {
      id: 'remove',
      call: workersApi.remove,
      text: t('workers.act.remove'),
      isDanger: true,
      reason: why === null ? null : t(`workers.kept.${why}`),
      onSelect: () => start({ kind: 'remove', worker }),
    },
  ];
  return (
    <Menu label={t('workers.more', { name: worker.name })} items={items.filter(({ call }) => may(call))} />
  );
}
