import { useMemo, useState } from 'react';
import { useCombobox } from '../jobs/use-combobox.ts';
import { findSettings, type FoundSetting } from './find.ts';
import { useSettingsT } from './texts.tsx';
import type { Topic } from './topics.ts';

interface SearchProps {
  readonly topics: readonly Topic[];
  readonly onJump: (href: string) => void;
}

/** Finds settings by words in the language of the panel, and opens the selected setting. */
export function SettingsSearch({ topics, onJump }: SearchProps) {
  const t = useSettingsT();
  const [query, setQuery] = useState('');
  const matches = useMemo(() => findSettings(topics, query, t), [topics, query, t]);
  const box = useCombobox(
    matches.map(({ href }) => href),
    href => {
      setQuery('');
      onJump(href);
    },
    () => undefined,
  );
  const isEmpty = query.trim() !== '' && matches.length === 0;
  return (
    <div className="settings-search">
      <input
        {...box.field}
        type="search"
        aria-label={t('topics.search')}
        placeholder={t('topics.search')}
        value={query}
        onChange={({ target }) => {
          box.rewrite();
          setQuery(target.value);
        }}
        onKeyDown={event => {
          // Enter opens the best match, so that users need not press an arrow key first.
          const [best] = matches;
          const isChosen = box.field['aria-activedescendant'] !== undefined;
          if (event.key === 'Enter' && best !== undefined && !isChosen) box.take(best.href);
          else box.field.onKeyDown(event);
        }}
      />
      <div {...box.list} aria-label={t('topics.search.results')} className="settings-found">
        {matches.map((each, index) => (
          <Found key={each.href} {...box.option(index)} found={each} onChoose={() => box.take(each.href)} />
        ))}
      </div>
      <span role="status" className={isEmpty ? 'settings-found-none' : 'unseen'}>
        {isEmpty && t('topics.search.none', { query: query.trim() })}
        {matches.length > 0 && t('topics.search.count', { count: matches.length })}
      </span>
    </div>
  );
}

interface FoundProps {
  readonly id: string;
  readonly isActive: boolean;
  readonly found: FoundSetting;
  readonly onChoose: () => void;
}

/** A match in the list. Mouse down selects it, because a click would arrive after the field has lost the focus. */
const Found = ({ id, isActive, found: { label, topic, text }, onChoose }: FoundProps) => (
  <div
    id={id}
    role="option"
    tabIndex={-1}
    aria-selected={isActive}
    className="settings-found-one"
    ref={element => {
      if (isActive) element?.scrollIntoView({ block: 'nearest' });
    }}
    onMouseDown={event => {
      event.preventDefault();
      onChoose();
    }}
  >
    <span className="settings-found-name">{label}</span>
    <span className="muted">{topic}</span>
    {text !== null && <span className="settings-found-text">{text}</span>}
  </div>
);
