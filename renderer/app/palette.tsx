import { Command } from 'cmdk';
import { Dialog } from 'radix-ui';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { workersApi } from '../../protocol/admin-api.ts';
import type { JobView } from '../../protocol/job.ts';
import { SearchText } from '../../protocol/job-search.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { useT } from '../i18n/index.ts';
import { useReturnedFocus } from '../ui/focus.ts';
import { Icon } from '../ui/icon.tsx';
import { useFleet, useMay, usePanel } from './context.ts';
import { pagesFor } from './pages.ts';

/** Per kind. A longer search text finds the rest. */
const maxFound = 8;

/** Opens any page, worker or job by a part of its name. */
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
    ? [...fleet.workers.values()].filter(({ id, name }) => isWanted(id, name)).slice(0, maxFound)
    : [];
  const found = useFoundJobs(wanted, may(queueApi.list) && !fleet.hasAllEnded);
  const known = [...fleet.jobs.values()].filter(({ id, config_name: config }) => isWanted(id, config));
  const jobs = may(queueApi.get)
    ? [...known, ...found.filter(({ id }) => !fleet.jobs.has(id))].slice(0, maxFound)
    : [];
  const open = (path: string) => () => {
    onClose();
    go(path);
  };
  return (
    <PaletteLayer onClose={onClose}>
      <Command.Input maxLength={200} value={text} onValueChange={setText} placeholder={t('palette.hint')} />
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

/** A pause of this length means that the user has stopped typing. */
const typingMs = 200;
const noJobs: readonly JobView[] = [];

/** Searches jobs on the server that are not in memory; empty until the answer arrives. */
function useFoundJobs(text: string, isAllowed: boolean): readonly JobView[] {
  const { client } = usePanel();
  const [found, setFound] = useState({ text: '', jobs: noJobs });
  const isAsked = isAllowed && text !== '' && SearchText.safeParse(text).success;
  useEffect(() => {
    if (!isAsked) return undefined;
    const asking = new AbortController();
    const { signal } = asking;
    const timer = setTimeout(async () => {
      const answer = await client.call(queueApi.list, { query: { q: text, limit: maxFound }, signal });
      if (answer.ok && !signal.aborted) setFound({ text, jobs: answer.value.entries });
    }, typingMs);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [client, text, isAsked]);
  return isAsked && found.text === text ? found.jobs : noJobs;
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
