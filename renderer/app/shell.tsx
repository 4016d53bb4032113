import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { eventsApi, workersApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { perLocale } from '../i18n/formats.ts';
import { useT } from '../i18n/index.ts';
import { focusPage } from '../ui/focus.ts';
import { Icon } from '../ui/icon.tsx';
import { useFleet, useMay, usePanel } from './context.ts';
import { desktop, useDesktopPages } from './desktop.tsx';
import { AllTexts } from './all-texts.tsx';
import { Guarded } from './guarded.tsx';
import mark from './icon.svg';
import { useShortcuts } from './keyboard.tsx';
import { type PageName, pages, pagesFor } from './pages.ts';
import { loadPart } from './part.ts';
import { showOffer } from '../ui/toast.tsx';
import { Boundary, explainFailure } from './unavailable.tsx';

const parts = {
  overview: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/overview/index.tsx')).OverviewPage })),
  ),
  workers: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/workers/index.tsx')).WorkersPage })),
  ),
  jobs: lazy(() => loadPart(async () => ({ default: (await import('../pages/jobs/index.tsx')).JobsPage }))),
  gallery: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/gallery/index.tsx')).GalleryPage })),
  ),
  queue: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/queue/index.tsx')).QueuePage })),
  ),
  timeline: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/timeline/index.tsx')).TimelinePage })),
  ),
  pools: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/pools/index.tsx')).PoolsPage })),
  ),
  data: lazy(() => loadPart(async () => ({ default: (await import('../pages/data/index.tsx')).DataPage }))),
  audit: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/audit/index.tsx')).AuditPage })),
  ),
  settings: lazy(() =>
    loadPart(async () => ({ default: (await import('../pages/settings/index.tsx')).SettingsPage })),
  ),
  help: lazy(() => loadPart(async () => ({ default: (await import('../pages/help/index.tsx')).HelpPage }))),
} as const satisfies Readonly<Record<PageName, unknown>>;

const Palette = lazy(() =>
  loadPart(async () => ({ default: (await import('./palette/index.tsx')).Palette })),
);

/** Makes the panel installable as an app. Browsers allow this only over HTTPS or on localhost. */
const Registration = lazy(() =>
  loadPart(async () => ({ default: (await import('../install/registration.tsx')).Registration })),
);
const isInstallable = desktop === null && isSecureContext && 'serviceWorker' in navigator;

export function Shell() {
  const t = useT();
  const may = useMay();
  const shown = useMemo(() => pagesFor(may), [may]);
  const [path] = useLocation();
  const [palette, setPalette] = useState<'unused' | 'open' | 'closed'>('unused');
  useShortcuts(useCallback(() => setPalette('open'), []));
  useFocusOnPage(path);
  useDesktopPages();
  useEffect(() => {
    // On a phone the navigation is wider than the screen, so scroll the link of the current page into view.
    document
      .querySelector('.rail-link[aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [path]);
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {t('app.skip')}
      </a>
      <header className="rail">
        <span className="brand">
          <img src={mark} alt="" width={22} height={22} />
          {t('app.name')}
        </span>
        <nav aria-label={t('nav.label')}>
          {shown.map(page => (
            <Link
              key={page.path}
              href={page.path}
              aria-current={isAt(path, page.path) ? 'page' : undefined}
              className="nav-link rail-link"
            >
              <Icon name={page.name} />
              <span>{t(`nav.${page.name}`)}</span>
            </Link>
          ))}
        </nav>
        <SignedInUser />
        <StreamBadge />
      </header>
      <main id="content" tabIndex={-1}>
        <Boundary key={toPageKey(path)} onFailure={explainFailure}>
          <Suspense fallback={<div className="page" aria-busy="true" />}>
            <Pages />
          </Suspense>
        </Boundary>
      </main>
      {isInstallable && (
        <Boundary onFailure={() => null}>
          <Suspense fallback={null}>
            <Registration offer={showOffer} />
          </Suspense>
        </Boundary>
      )}
      {palette !== 'unused' && (
        <Boundary onFailure={() => null}>
          <Suspense fallback={null}>
            <AllTexts>
              <Palette isOpen={palette === 'open'} onClose={() => setPalette('closed')} />
            </AllTexts>
          </Suspense>
        </Boundary>
      )}
    </div>
  );
}

/** All topics of the settings have the same key, so that changing the topic does not remove the focused element. */
const toPageKey = (path: string): string => (path.startsWith('/settings/') ? '/settings' : path);

/** Compares jobs. It has no entry in the navigation, because it needs a selection of jobs. */
const Compare = lazy(() =>
  loadPart(async () => ({ default: (await import('../pages/compare/index.tsx')).ComparePage })),
);

/** Renders the page at the current path. A page that the user may not open explains which permission is missing. */
function Pages() {
  const t = useT();
  return (
    <Switch>
      {pages.map(({ name, path, pattern = path, calls }) => {
        const Part = parts[name];
        return (
          <Route key={name} path={pattern}>
            <Guarded calls={calls} title={`nav.${name}`}>
              {name === 'overview' ? (
                <Part />
              ) : (
                <AllTexts>
                  <Part />
                </AllTexts>
              )}
            </Guarded>
          </Route>
        );
      })}
      <Route path="/compare">
        <Guarded calls={[queueApi.list]} title="nav.jobs">
          <AllTexts>
            <Compare />
          </AllTexts>
        </Guarded>
      </Route>
      <Route>
        <div className="page">{t('page.notFound')}</div>
      </Route>
    </Switch>
  );
}

/**
 * Moves the focus to the new page, because the focused element, such as a row or a link, was removed with the previous
 * page.
 */
function useFocusOnPage(path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    if (document.activeElement === null || document.activeElement === document.body) focusPage();
  }, [path]);
}

const isAt = (path: string, page: string): boolean =>
  page === '/' ? path === '/' : path === page || path.startsWith(`${page}/`);

/** Shows the name of the signed-in user. */
function SignedInUser() {
  const t = useT();
  const { user } = usePanel().person;
  const text = t('may.as', { user });
  return (
    <Link href="/settings" className="who" aria-label={text} title={text}>
      <Icon name="person" />
      <span translate="no">{user}</span>
    </Link>
  );
}

const sinceFormat = perLocale({ timeStyle: 'medium' });

/** Shows whether the displayed data is current. Hidden from users who may see neither jobs nor workers. */
function StreamBadge() {
  const t = useT();
  const may = useMay();
  const stream = useFleet(state => state.stream);
  const time = stream.kind === 'stale' ? sinceFormat(t).format(stream.since) : '';
  const texts = {
    connecting: t('stream.connecting'),
    loading: t('stream.loading'),
    live: t('stream.live'),
    stale: t('stream.stale', { time }),
    polled: t('stream.polled'),
  };
  if (!may(eventsApi.stream) && !may(workersApi.list)) return null;
  return (
    <div className="stream-badge" data-stream={stream.kind} role="status">
      <Icon name={stream.kind === 'live' || stream.kind === 'polled' ? 'live' : 'stale'} />
      <span>{texts[stream.kind]}</span>
    </div>
  );
}
