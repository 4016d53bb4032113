import { Suspense, useMemo, useRef } from 'react';
import { Link, useParams } from 'wouter';
import { useMay } from '../../app/context.ts';
import { Missing } from '../../app/guarded.tsx';
import { useSettings } from '../../app/settings.tsx';
import { Boundary, explainFailure } from '../../app/unavailable.tsx';
import { SettingsSearch } from './search.tsx';
import './settings.css';
import { SettingsTexts, useSettingsT } from './texts.tsx';
import { type Topic, topics, topicsFor } from './topics.ts';
import { useJump } from './use-jump.ts';

/** The preferences of this browser and the settings of the server, by topic. */
export const SettingsPage = () => (
  <SettingsTexts>
    <Settings />
  </SettingsTexts>
);

const addressOf = ({ name }: Topic): string => `/settings/${name}`;

function Settings() {
  const t = useSettingsT();
  const may = useMay();
  const { topic: topicName = 'general' } = useParams<{ readonly topic?: string }>();
  const content = useRef<HTMLDivElement>(null);
  const allowed = useMemo(() => topicsFor(may), [may]);
  const jump = useJump(content, topicName);
  return (
    <div className="page settings-page">
      <div className="page-head">
        <h1>{t('nav.settings')}</h1>
        <SettingsSearch topics={allowed} onJump={jump} />
      </div>
      <div className="settings-columns">
        <TopicList topics={allowed} open={topicName} />
        <TopicChoice topics={allowed} open={topicName} onChoose={jump} />
        <div ref={content} className="settings-content">
          <Content name={topicName} allowed={allowed} />
        </div>
      </div>
    </div>
  );
}

interface TopicListProps {
  readonly topics: readonly Topic[];
  /** Name of the shown topic. */
  readonly open: string;
}

/** The topics as a list next to the settings, in a wide window. */
function TopicList({ topics: shown, open }: TopicListProps) {
  const t = useSettingsT();
  return (
    <nav className="settings-topics" aria-label={t('topics.label')}>
      {shown.map(topic => (
        <Link
          key={topic.name}
          href={addressOf(topic)}
          aria-current={topic.name === open ? 'page' : undefined}
          className="nav-link"
        >
          <topic.icon size={16} strokeWidth={2} aria-hidden="true" />
          {t(topic.title)}
        </Link>
      ))}
    </nav>
  );
}

/** The topics as a select box above the settings, in a narrow window. */
function TopicChoice({
  topics: shown,
  open,
  onChoose,
}: TopicListProps & { readonly onChoose: (href: string) => void }) {
  const t = useSettingsT();
  return (
    <label className="settings-topic-choice">
      {t('topics.choose')}
      <select value={open} onChange={({ target }) => onChoose(`/settings/${target.value}`)}>
        {shown.map(({ name, title }) => (
          <option key={name} value={name}>
            {t(title)}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ContentProps {
  readonly name: string;
  readonly allowed: readonly Topic[];
}

/** The settings of one topic, or the permission that the user needs to see this topic. */
function Content({ name, allowed }: ContentProps) {
  const t = useSettingsT();
  const settings = useSettings();
  const topic = allowed.find(each => each.name === name);
  const [call] = topics.find(each => each.name === name)?.calls ?? [];
  if (topic === undefined) return call === undefined ? <p>{t('page.notFound')}</p> : <Missing call={call} />;
  return (
    <Boundary key={name} onFailure={explainFailure}>
      <Suspense fallback={<div aria-busy="true" />}>
        <topic.Part {...settings} />
      </Suspense>
    </Boundary>
  );
}
