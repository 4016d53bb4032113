import { Command } from 'cmdk';
import { Dialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { workersApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { useT } from '../i18n/index.ts';
import { useReturnedFocus } from '../ui/focus.ts';
import { Icon } from '../ui/icon.tsx';
import { useFleet, useMay } from './context.ts';
import { pagesFor } from './pages.ts';

/** Of each kind; whoever looks for another one writes more of its name. */
const mostFound = 8;

/** Goes to any page, worker or job by a part of its name. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const t = useT();
  const [, go] = useLocation();
  const may = useMay();
  const [text, setText] = useState('');
  const fleet = useFleet(state => state.fleet);
  const wanted = text.trim().toLowerCase();
  const isWanted = (...names: readonly string[]): boolean =>
    wanted !== '' && names.some(name => name.toLowerCase().includes(wanted));
  const workers = may(workersApi.get)
    ? [...fleet.workers.values()].filter(({ id, name }) => isWanted(id, name)).slice(0, mostFound)
    : [];
  const jobs = may(queueApi.get)
    ? [...fleet.jobs.values()]
        .filter(({ id, config_name: config }) => isWanted(id, config))
        .slice(0, mostFound)
    : [];
  const open = (path: string) => () => {
    onClose();
    go(path);
  };
  return (
    <PaletteLayer onClose={onClose}>
      <Command.Input value={text} onValueChange={setText} placeholder={t('palette.hint')} />
      <Command.List label={t('palette.label')}>
        <Command.Empty>{t('palette.nothing')}</Command.Empty>
        {pagesFor(may)
          .filter(({ name }) => wanted === '' || t(`nav.${name}`).toLowerCase().includes(wanted))
          .map(({ path, name }) => (
            <Command.Item key={path} value={path} onSelect={open(path)}>
              <Icon name={name} /> {t(`nav.${name}`)}
            </Command.Item>
          ))}
        {workers.map(({ id, name }) => (
          <Command.Item key={id} value={id} onSelect={open(`/workers/${id}`)}>
            <Icon name="workers" /> {name}
          </Command.Item>
        ))}
        {jobs.map(({ id, config_name: config }) => (
          <Command.Item key={id} value={id} onSelect={open(`/jobs/${id}`)}>
            <Icon name="jobs" /> {config} <span className="muted">{id}</span>
          </Command.Item>
        ))}
      </Command.List>
    </PaletteLayer>
  );
}

function PaletteLayer({ onClose, children }: { readonly onClose: () => void; readonly children: ReactNode }) {
  const t = useT();
  const returnFocus = useReturnedFocus();
  return (
    <Dialog.Root open onOpenChange={isOpen => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="dialog palette"
          aria-describedby={undefined}
          onCloseAutoFocus={returnFocus}
        >
          <Dialog.Title className="unseen">{t('palette.label')}</Dialog.Title>
          <Command label={t('palette.label')} shouldFilter={false}>
            {children}
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
