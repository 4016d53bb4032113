import { useMemo } from 'react';
import { useFleet } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { FilterChips } from '../../ui/indicators.tsx';
import { countStates, shownStates, isShownState, type ShownState, shownState } from './facts.ts';
import type { WorkerView } from '../../../protocol/worker.ts';

/**
 * A parsed filter, such as `rig state:busy label:team=nlp gpu:>=4 vram:>=24 type:ephemeral`. A worker must match every
 * part of the filter.
 */
interface WorkerQuery {
  readonly fits: (worker: WorkerView) => boolean;
  /** The states in the filter. An empty list means any state. */
  readonly states: readonly ShownState[];
  /** The invalid parts of the filter. If there are any, no worker matches. */
  readonly unknown: readonly string[];
}

type Test = (worker: WorkerView) => boolean;

export function parseQuery(text: string): WorkerQuery {
  const tests: Test[] = [];
  const unknown: string[] = [];
  const states: ShownState[] = [];
  for (const part of text.split(/\s+/).filter(word => word !== '')) {
    const [, key, value] = /^(state|label|gpu|vram|type):(.*)$/i.exec(part) ?? [];
    if (key === undefined || value === undefined) {
      tests.push(hasWord(part.toLowerCase()));
      continue;
    }
    // Ignore a part without a value, because the user has not typed the value yet.
    if (value === '') continue;
    const test = byKey(key.toLowerCase(), value.toLowerCase());
    if (test === null) unknown.push(part);
    else tests.push(test);
    if (key.toLowerCase() === 'state') states.push(...value.toLowerCase().split(',').filter(isShownState));
  }
  const fits: Test = unknown.length > 0 ? () => false : worker => tests.every(test => test(worker));
  return { fits, states, unknown };
}

/** Changes the filter text so that it accepts only this state, or any state for null. @internal */
export function withState(text: string, state: ShownState | null): string {
  const others = text.split(/\s+/).filter(part => part !== '' && !/^state:/i.test(part));
  return [...(state === null ? [] : [`state:${state}`]), ...others].join(' ');
}

const hasWord = (word: string): Test => {
  return worker =>
    [worker.name, worker.id, worker.host, worker.gpu_name].some(
      text => text?.toLowerCase().includes(word) === true,
    );
};

/** Returns the test for `key:value`; null when the value is invalid. */
function byKey(key: string, value: string): Test | null {
  if (key === 'state') return byState(value.split(',').filter(word => word !== ''));
  if (key === 'label') return byLabel(value);
  if (key === 'type')
    return /^(persistent|ephemeral)$/.test(value) ? worker => worker.worker_type === value : null;
  const accepts = comparison(value);
  if (accepts === null) return null;
  return key === 'gpu' ? worker => accepts(worker.gpu_count) : worker => accepts(worker.gpu_vram_gb ?? 0);
}

function byState(words: readonly string[]): Test | null {
  if (!words.every(word => isShownState(word) || word === 'duplicate')) return null;
  return worker =>
    words.includes(shownState(worker)) || (words.includes('duplicate') && worker.duplicate !== null);
}

/** Returns the test for a label: `team`, `team=nlp` or `team=nl*`. */
function byLabel(value: string): Test {
  const [key = '', ...rest] = value.split('=');
  const valuePattern = rest.length === 0 ? null : globToRegExp(rest.join('='));
  return ({ labels }) =>
    Object.entries(labels).some(
      ([name, text]) =>
        name.toLowerCase() === key && (valuePattern === null || valuePattern.test(text.toLowerCase())),
    );
}

const globToRegExp = (pattern: string): RegExp =>
  new RegExp(`^${pattern.split(/\*+/).map(RegExp.escape).join('.*')}$`, 's');

const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '': (a, b) => a === b,
  '=': (a, b) => a === b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
};

function comparison(text: string): ((figure: number) => boolean) | null {
  const [, sign = '', figure] = /^(|=|>=?|<=?)(\d{1,6}(?:\.\d+)?)$/.exec(text) ?? [];
  const compare = comparisons[sign];
  if (figure === undefined || compare === undefined) return null;
  const limit = Number(figure);
  return value => compare(value, limit);
}

interface FilterBarProps {
  readonly text: string;
  readonly query: WorkerQuery;
  readonly onChange: (text: string) => void;
  /** Number of workers that match the filter. */
  readonly shown: number;
}

export function FilterBar({ text, query, onChange, shown }: FilterBarProps) {
  const t = useT();
  const workers = useFleet(state => state.fleet.workers);
  const counts = useMemo(() => countStates(workers.values()), [workers]);
  const [only, ...more] = query.states;
  const chosen = only !== undefined && more.length === 0 ? only : null;
  // Hide the chip for GPU trouble if it is not needed, so that the other chips fit into one line.
  const chips = shownStates
    .map(id => ({ id, text: t(`state.${id}`), count: counts.get(id) ?? 0 }))
    .filter(({ id, count }) => id !== 'trouble' || count > 0 || id === chosen);
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
