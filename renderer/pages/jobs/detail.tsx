import { Tabs } from 'radix-ui';
import { Link, useSearchParams } from 'wouter';
import { useT } from '../../i18n/index.ts';
import { Empty } from '../../ui/empty.tsx';
import { Menu } from '../../ui/menu.tsx';
import { State } from '../../ui/state.tsx';
import { JobEvents } from './events.tsx';
import { shownState } from './filter.ts';
import { useActs } from './job-acts.tsx';
import { JobConfig } from './job-config.tsx';
import { JobOverview } from './overview.tsx';
import { JobRaw } from './raw.tsx';
import { useJob } from './use-job.ts';

/** In this order; a part has its tab once there is a call for it. */
const tabs = ['overview', 'config', 'events', 'raw'] as const;

export function JobDetailPage({ id }: { readonly id: string }) {
  const t = useT();
  const [params, setParams] = useSearchParams();
  const { job, isGone } = useJob(id);
  const { menuOf } = useActs();
  const tab = tabs.find(name => name === params.get('tab')) ?? 'overview';
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
          <h1>{job.config_name}</h1>
          <State name={shownState(job)} />
          <span className="muted mono">{job.id}</span>
        </div>
        <Menu label={t('jobs.act.menu', { config: job.config_name })} items={menuOf(job)} />
      </div>
      <Tabs.Root value={tab} onValueChange={name => setParams(name === 'overview' ? {} : { tab: name })}>
        <Tabs.List className="tabs" aria-label={t('jobs.detail.tabs')}>
          {tabs.map(name => (
            <Tabs.Trigger key={name} value={name} className="tab">
              {t(`jobs.tab.${name}`)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value="overview" className="tab-content">
          <JobOverview job={job} />
        </Tabs.Content>
        <Tabs.Content value="config" className="tab-content">
          <JobConfig job={job} />
        </Tabs.Content>
        <Tabs.Content value="events" className="tab-content">
          <JobEvents id={job.id} />
        </Tabs.Content>
        <Tabs.Content value="raw" className="tab-content">
          <JobRaw job={job} />
        </Tabs.Content>
      </Tabs.Root>
    </div>
  );
}
