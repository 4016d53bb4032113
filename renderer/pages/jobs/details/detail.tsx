import { Tabs } from 'radix-ui';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { logsApi } from '../../../../protocol/logs-api.ts';
import { metricsApi } from '../../../../protocol/metrics-api.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { useMay } from '../../../app/context.ts';
import { ForJob, Missing } from '../../../app/guarded.tsx';
import { loadPart } from '../../../app/part.ts';
import { useT } from '../../../i18n/index.ts';
import { Empty } from '../../../ui/empty.tsx';
import { State } from '../../../ui/indicators.tsx';
import { JobEvents } from './events.tsx';
import { HeaderActions } from './header-actions.tsx';
import { shownState } from '../list/filter.ts';
import { JobConfig } from './job-config.tsx';
import { JobOverview } from './overview.tsx';
import { useJob } from './job-reads.ts';
import { Button } from '../../../ui/button.tsx';

const JobLogs = lazy(() => loadPart(async () => ({ default: (await import('../logs/index.tsx')).JobLogs })));
/** Loaded on demand, because it includes the chart library. */
const JobCurves = lazy(() =>
  loadPart(async () => ({ default: (await import('../curves/index.tsx')).JobCurves })),
);

const JobAbout = lazy(() => loadPart(async () => ({ default: (await import('./about.tsx')).JobAbout })));
const JobFiles = lazy(() =>
  loadPart(async () => ({ default: (await import('../files/index.tsx')).JobFiles })),
);

/** Tabs in order, each with the call that it needs. */
const tabs = {
  overview: queueApi.get,
  logs: logsApi.read,
  metrics: metricsApi.read,
  files: artifactsApi.list,
  config: queueApi.config,
  events: queueApi.events,
  raw: queueApi.get,
} as const;
type Tab = keyof typeof tabs;
const allTabs = [
  'overview',
  'logs',
  'metrics',
  'files',
  'config',
  'events',
  'raw',
] as const satisfies readonly Tab[];

export function JobDetailPage({ id }: { readonly id: string }) {
  const t = useT();
  const may = useMay();
  const [params, setParams] = useSearchParams();
  const { job, isGone } = useJob(id);
  const tab = allTabs.find(name => name === params.get('tab')) ?? 'overview';
  // Keep the tab from the URL even when the user may not open it, so that the page can explain the missing permission.
  const shown = allTabs.filter(
    name => (job === null ? may(tabs[name]) : may(tabs[name], job)) || name === tab,
  );
  const open = (name: string): void => {
    // Radix reports a click twice: for the press and for the focus. The second report must not add a history entry.
    const shownNow = new URLSearchParams(globalThis.location.search).get('tab') ?? 'overview';
    if (name !== shownNow) setParams(name === 'overview' ? {} : { tab: name });
  };
  const back = <Link href="/jobs">{t('jobs.detail.back')}</Link>;
  if (isGone) {
    return (
      <div className="page">
        <Empty why={t('jobs.detail.gone', { id })}>{back}</Empty>
      </div>
    );
  }
  if (job === null) return <div className="page" aria-busy="true" />;
  return (
    <div className="page jobs-page">
      <nav className="crumb" aria-label={t('jobs.detail.back')}>
        {back}
      </nav>
      <div className="page-head job-head">
        <div className="job-title">
          <h1>{shownName(job)}</h1>
          <State name={shownState(job)} />
          <span className="muted">{t('jobs.detail.by', { user: job.user })}</span>
          <span className="muted mono">{job.id}</span>
        </div>
        <HeaderActions job={job} />
      </div>
      {tab === 'overview' && (
        <Suspense fallback={null}>
          <JobAbout job={job} />
        </Suspense>
      )}
      <Tabs.Root value={tab} onValueChange={open}>
        <Tabs.List className="tabs" aria-label={t('jobs.detail.tabs')}>
          {shown.map(name => (
            <Tabs.Trigger key={name} value={name} className="tab">
              {t(`jobs.tab.${name}`)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {shown.map(name => (
          <Tabs.Content key={name} value={name} className="tab-content">
            <ForJob job={job}>
              {may(tabs[name], job) ? contentOf(name, job) : <Missing call={tabs[name]} />}
            </ForJob>
          </Tabs.Content>
        ))}
      </Tabs.Root>
    </div>
  );
}

function contentOf(tab: Tab, job: JobDetail): ReactNode {
  switch (tab) {
    case 'overview':
      return <JobOverview job={job} />;
    case 'logs':
      return (
        <Suspense fallback={<div aria-busy="true" />}>
          <JobLogs job={job} />
        </Suspense>
      );
    case 'metrics':
      return (
        <Suspense fallback={<div aria-busy="true" />}>
          <JobCurves job={job} />
        </Suspense>
      );
    case 'files':
      return (
        <Suspense fallback={<div aria-busy="true" />}>
          <JobFiles job={job} />
        </Suspense>
      );
    case 'config':
      return <JobConfig job={job} />;
    case 'events':
      return <JobEvents id={job.id} />;
    case 'raw':
      return <JobRaw job={job} />;
  }
}

/** The job's JSON from the server. */
function JobRaw({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const [isCopied, setCopied] = useState(false);
  const text = JSON.stringify(job, null, 2);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className="card">
      {/* Pages without a secure context have no clipboard, such as pages over plain HTTP from another machine. */}
      {'clipboard' in navigator && (
        <div>
          <Button onClick={() => void copy()}>{t(isCopied ? 'action.copied' : 'action.copy')}</Button>
        </div>
      )}
      <pre className="raw">{text}</pre>
    </div>
  );
}
