/** Keyboard navigation: shortcuts, and the palette that opens any page, worker or job. */
import { Command } from 'cmdk';
import { Dialog } from 'radix-ui';
import { type ReactNode, useEffect, useState } from 'react';
import { tinykeys } from 'tinykeys';
import { useLocation } from 'wouter';
import { workersApi } from '../../protocol/admin-api.ts';
import { SearchText } from '../../protocol/job-search.ts';
import type { JobView } from '../../protocol/job.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { useT } from '../i18n/index.ts';
import { useReturnedFocus } from '../ui/focus.ts';
import { Icon } from '../ui/icon.tsx';
import { useFleet, useMay, usePanel } from './context.ts';
import { pagesFor } from './pages.ts';

/** Selects elements that handle keys themselves, for text input or for their own commands. */
const capturesKeys =
  'input:not([type="checkbox"]), textarea, select, [contenteditable], [role="dialog"], [role="alertdialog"], [role="menu"]';
const overlays = '[role="dialog"], [role="alertdialog"], [role="menu"]';
const isIn = ({ target }: KeyboardEvent, selector: string): boolean =>
  target instanceof Element && target.closest(selector) !== null;

const focusFirst = (selector: string): void =>
  document.querySelector<HTMLElement>(`#content ${selector}`)?.focus();

/** Shortcuts that work on every page; the help page lists them. */
export function useShortcuts(onPalette: () => void): void {
  const [, go] = useLocation();
  const may = useMay();
  useEffect(() => {
    const unlessCaptured = (act: () => void) => (event: KeyboardEvent) => {
      if (isIn(event, capturesKeys)) return;
      event.preventDefault();
      act();
    };
    const palette = (event: KeyboardEvent): void => {
      event.preventDefault();
      // Leaving the page would discard the dialog's input.
      if (!isIn(event, overlays)) onPalette();
    };
    // If a row has the focus, its table has already handled the key. Otherwise, focus the first row.
    const row = (event: KeyboardEvent): void => {
      if (!event.defaultPrevented && !isIn(event, capturesKeys)) focusFirst('[data-row]');
    };
    return tinykeys(
      globalThis.window,
      {
        '$mod+k': palette,
        // Many keyboards need Shift for these two keys.
        '[Shift]+?': unlessCaptured(() => go('/help')),
        '[Shift]+/': unlessCaptured(() => focusFirst('input[type="search"]')),
        ...Object.fromEntries(
          pagesFor(may).map(({ key, path }) => [`g ${key}`, unlessCaptured(() => go(path))]),
        ),
        // Register after the `g` sequences, because `g j` opens a page.
        j: row,
      },
      { ignore: event => event.repeat || event.isComposing },
    );
  }, [go, may, onPalette]);
}

/** Maximum number of results for each kind of object. A longer search text finds the others. */
const maxFound = 8;

/** Opens any page, worker or job by a part of its name. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const t = useT();
  const [, go] = useLocation();
  const may = useMay();
  const [text, setText] = useState('');
  const fleet = useFleet(state => state.fleet);
  const query = text.trim().toLowerCase();
  const isMatch = (...names: readonly string[]): boolean =>
    query !== '' && names.some(name => name.toLowerCase().includes(query));
  const workers = may(workersApi.get)
    ? [...fleet.workers.values()].filter(({ id, name }) => isMatch(id, name)).slice(0, maxFound)
    : [];
  const found = useFoundJobs(query, may(queueApi.list) && !fleet.hasAllEnded);
  const known = [...fleet.jobs.values()].filter(({ id, config_name: config }) => isMatch(id, config));
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
          .filter(({ name }) => query === '' || t(`nav.${name}`).toLowerCase().includes(query))
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

/** After this pause in typing, the search starts. */
const typingPauseMs = 200;
const noJobs: readonly JobView[] = [];

/** Searches the server for jobs that are not in memory; returns an empty list until the answer arrives. */
function useFoundJobs(text: string, isAllowed: boolean): readonly JobView[] {
  const { client } = usePanel();
  const [found, setFound] = useState({ text: '', jobs: noJobs });
  const isSearchable = isAllowed && text !== '' && SearchText.safeParse(text).success;
  useEffect(() => {
    if (!isSearchable) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setTimeout(async () => {
      const answer = await client.call(queueApi.list, { query: { q: text, limit: maxFound }, signal });
      if (answer.ok && !signal.aborted) setFound({ text, jobs: answer.value.entries });
    }, typingPauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [client, text, isSearchable]);
  return isSearchable && found.text === text ? found.jobs : noJobs;
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
