import { Suspense, lazy, useCallback, useEffect, useRef, useState } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { useT } from '../i18n/index.ts';
import { Boundary } from '../ui/boundary.tsx';
import { focusPage } from '../ui/focus.ts';
import { Icon } from '../ui/icon.tsx';
import mark from './icon.svg';
import { pages } from './pages.ts';
import { Palette } from './palette.tsx';
import { useShortcuts } from './shortcuts.ts';
import { StreamBadge } from './stream-badge.tsx';

const Overview = lazy(async () => ({ default: (await import('../pages/overview/index.tsx')).OverviewPage }));
const Workers = lazy(async () => ({ default: (await import('../pages/workers/index.tsx')).WorkersPage }));
const Jobs = lazy(async () => ({ default: (await import('../pages/jobs/index.tsx')).JobsPage }));
const Queue = lazy(async () => ({ default: (await import('../pages/queue/index.tsx')).QueuePage }));
const Audit = lazy(async () => ({ default: (await import('../pages/audit/index.tsx')).AuditPage }));
const Settings = lazy(async () => ({ default: (await import('../pages/settings/index.tsx')).SettingsPage }));
const Help = lazy(async () => ({ default: (await import('../pages/help/index.tsx')).HelpPage }));

export function Shell() {
  const t = useT();
  const [path] = useLocation();
  const [isSearching, setSearching] = useState(false);
  useShortcuts(useCallback(() => setSearching(true), []));
  useFocusOnPage(path);
  useEffect(() => {
    // On a phone the pages stand in a row that is longer than the screen.
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
          {pages.map(page => (
            <Link
              key={page.path}
              href={page.path}
              aria-current={isAt(path, page.path) ? 'page' : undefined}
              className="rail-link"
            >
              <Icon name={page.icon} />
              <span>{t(page.name)}</span>
            </Link>
          ))}
        </nav>
        <StreamBadge />
      </header>
      <main id="content" tabIndex={-1}>
        <Boundary key={path}>
          <Suspense fallback={<div className="page" aria-busy="true" />}>
            <Switch>
              <Route path="/" component={Overview} />
              <Route path="/workers/:id?" component={Workers} />
              <Route path="/jobs/:id?" component={Jobs} />
              <Route path="/queue" component={Queue} />
              <Route path="/audit" component={Audit} />
              <Route path="/settings" component={Settings} />
              <Route path="/help" component={Help} />
              <Route>
                <div className="page">{t('page.notFound')}</div>
              </Route>
            </Switch>
          </Suspense>
        </Boundary>
      </main>
      {isSearching && <Palette onClose={() => setSearching(false)} />}
    </div>
  );
}

/** Whoever had the focus may have gone with the page before: a row that was opened, a link. */
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
