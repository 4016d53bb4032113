/** The palette opens any page, worker or job, and performs actions. */
import { Command } from 'cmdk';
import { Dialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import { workersApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useT } from '../../i18n/index.ts';
import { JobActionsProvider } from '../../pages/jobs/job-actions.tsx';
import { PauseDialog } from '../../pages/queue/pause.tsx';
import { ActionDialogs } from '../../pages/workers/dialogs/action-dialogs.tsx';
import { useReturnedFocus } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { useFleet, useMay } from '../context.ts';
import { pagesFor } from '../pages.ts';
import { useActionNames, useGeneralActions, useObjectActions } from './actions.ts';
import { type ActionEntry, matchActions, objectWords } from './entries.ts';
import { useFoundJobs } from './found-jobs.ts';

/** Maximum number of results for each kind of object. A longer search text finds the others. */
const maxFound = 8;

interface PaletteProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Stays mounted while the palette is closed, because a dialog of an action outlives the palette. */
export function Palette({ isOpen, onClose }: PaletteProps) {
  const [isPausing, setPausing] = useState(false);
  return (
    <JobActionsProvider>
      <ActionDialogs>
        {isOpen && <OpenPalette onClose={onClose} onPause={() => setPausing(true)} />}
        {isPausing && <PauseDialog onClose={() => setPausing(false)} />}
      </ActionDialogs>
    </JobActionsProvider>
  );
}

function OpenPalette({ onClose, onPause }: { readonly onClose: () => void; readonly onPause: () => void }) {
  const t = useT();
  const may = useMay();
  const [, go] = useLocation();
  const [text, setText] = useState('');
  const query = text.trim().toLowerCase();
  const { jobs, workers } = useObjects(query);
  const words = objectWords(query, useActionNames());
  // In "cancel flux", "cancel" names an action and "flux" its objects. Search for objects only if there is an action.
  const hasAction = words !== query;
  const objects = useObjects(hasAction ? words : '');
  const onObjects = useObjectActions(objects.jobs, objects.workers);
  const general = useGeneralActions(onPause);
  const actions = matchActions([...general, ...onObjects], query, maxFound);
  const close = (act: () => void) => () => {
    onClose();
    act();
  };
  return (
    <PaletteLayer onClose={onClose}>
      <Command.Input maxLength={200} value={text} onValueChange={setText} placeholder={t('palette.hint')} />
      <Command.List label={t('palette.label')}>
        <Command.Empty>{t('palette.nothing')}</Command.Empty>
        {pagesFor(may)
          .filter(({ name }) => query === '' || t(`nav.${name}`).toLowerCase().includes(query))
          .map(({ path, name }) => (
            <Command.Item key={path} value={path} onSelect={close(() => go(path))}>
              <Icon name={name} /> {t(`nav.${name}`)}
            </Command.Item>
          ))}
        {workers.map(({ id, name }) => (
          <Command.Item key={id} value={id} onSelect={close(() => go(`/workers/${id}`))}>
            <Icon name="workers" /> {name}
          </Command.Item>
        ))}
        {jobs.map(job => (
          <Command.Item key={job.id} value={job.id} onSelect={close(() => go(`/jobs/${job.id}`))}>
            <Icon name="jobs" /> {shownName(job)} <span className="muted">{job.id}</span>
          </Command.Item>
        ))}
        {actions.map(each => (
          <ActionItem key={each.id} entry={each} onSelect={close(each.onSelect)} />
        ))}
      </Command.List>
    </PaletteLayer>
  );
}

function ActionItem({ entry, onSelect }: { readonly entry: ActionEntry; readonly onSelect: () => void }) {
  return (
    <Command.Item value={`action ${entry.id}`} onSelect={onSelect}>
      <Icon name="running" /> {entry.text}
    </Command.Item>
  );
}

/** Returns the workers and jobs whose name or id contains the text. Jobs in memory precede jobs found by the server. */
function useObjects(query: string) {
  const may = useMay();
  const fleet = useFleet(state => state.fleet);
  const isMatch = (...names: readonly string[]): boolean =>
    query !== '' && names.some(name => name.toLowerCase().includes(query));
  const workers = may(workersApi.get)
    ? [...fleet.workers.values()].filter(({ id, name }) => isMatch(id, name)).slice(0, maxFound)
    : [];
  const foundOnServer = useFoundJobs(query, may(queueApi.list) && !fleet.hasAllEndedJobs, maxFound);
  const inMemory = [...fleet.jobs.values()].filter(job => isMatch(job.id, shownName(job), job.config_name));
  const jobs = may(queueApi.get)
    ? [...inMemory, ...foundOnServer.filter(({ id }) => !fleet.jobs.has(id))].slice(0, maxFound)
    : [];
  return { workers, jobs };
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
