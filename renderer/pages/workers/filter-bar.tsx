import { useMemo } from 'react';
import { useFleet } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { FilterChips } from '../../ui/chips.tsx';
import { countStates, shownStates } from './facts.ts';
import { type WorkerQuery, withState } from './query.ts';

interface FilterBarProps {
  readonly text: string;
  readonly query: WorkerQuery;
  readonly onChange: (text: string) => void;
  /** Number of matching workers. */
  readonly shown: number;
}

export function FilterBar({ text, query, onChange, shown }: FilterBarProps) {
  const t = useT();
  const workers = useFleet(state => state.fleet.workers);
  const counts = useMemo(() => countStates(workers.values()), [workers]);
  const chips = shownStates.map(id => ({ id, text: t(`state.${id}`), count: counts.get(id) ?? 0 }));
  const [only, ...more] = query.states;
  const chosen = only !== undefined && more.length === 0 ? only : null;
  return (
    <div className="worker-filter">
      <input
        type="search"
        aria-label={t('workers.filter')}
        placeholder={t('workers.filter.hint')}
        spellCheck={false}
        value={text}
        onChange={event => onChange(event.target.value)}
      />
      <FilterChips
        label={t('workers.filter.states')}
        chips={chips}
        chosen={new Set(chosen === null ? [] : [chosen])}
        onToggle={state => onChange(withState(text, state === chosen ? null : state))}
      />
      <span className="muted worker-count" role="status">
        {query.unknown.length > 0
          ? t('workers.filter.unknown', { parts: query.unknown.join(' ') })
          : t(shown === workers.size ? 'workers.count' : 'workers.countOf', { shown, count: workers.size })}
      </span>
    </div>
  );
}
