import { useEffect, useMemo, useState } from 'react';
import type { TrainerConfig } from '../../../../protocol/job.ts';
import {
  checkConfig,
  loadArguments,
  openConfigText,
  type Trainer,
  type TrainerArguments,
  type TrainerName,
  type UnknownKey,
  type ValueFinding,
} from '../../../../trainers/index.ts';
import { Button } from '../../../ui/button.tsx';
import type { Draft } from './draft.ts';
import { type SubmitTranslator, useSubmitT } from './texts.tsx';
import type { DryRun } from './use-live-answer.ts';

/** Loads the list of a trainer's config keys. Returns null while loading, and for trainers without a list. */
export function useArguments(trainer: TrainerName | null): TrainerArguments | null {
  const [loaded, setLoaded] = useState<{ readonly of: TrainerName; readonly list: TrainerArguments } | null>(
    null,
  );
  useEffect(() => {
    let isWanted = true;
    if (trainer !== null)
      void loadArguments(trainer).then(list => {
        if (isWanted) setLoaded(list && { of: trainer, list });
      });
    return () => {
      isWanted = false;
    };
  }, [trainer]);
  return loaded !== null && loaded.of === trainer ? loaded.list : null;
}

interface FindingsProps {
  readonly draft: Draft;
  readonly trainer: Trainer;
  readonly config: TrainerConfig;
  readonly known: TrainerArguments | null;
  /** The server's newest answer. The server's list of keys comes from the rigs, so it is better than the panel's list. */
  readonly answer: DryRun | null;
  readonly change: (part: Partial<Draft>) => void;
}

/** Lists config keys and values that the trainer does not know, each with the most similar known key or value. */
export function Findings({ draft, trainer, config, known, answer, change }: FindingsProps) {
  const t = useSubmitT();
  const checkedHere = useMemo(
    () => (known === null ? { keys: [], values: [] } : checkConfig(trainer, config, known)),
    [trainer, config, known],
  );
  const keys = answer?.checks_keys === true ? keysIn(answer) : checkedHere.keys;
  if (keys.length + checkedHere.values.length === 0) return null;
  return (
    <ul className="findings" aria-label={t('submit.findings')}>
      {keys.map(finding => (
        <KeyFinding key={finding.key} finding={finding} trainer={trainer} draft={draft} change={change} />
      ))}
      {checkedHere.values.map(finding => (
        <ValueLine key={finding.at.join('.')} finding={finding} draft={draft} change={change} />
      ))}
    </ul>
  );
}

const keysIn = ({ warnings = [] }: DryRun): readonly UnknownKey[] =>
  warnings.flatMap(({ key, nearest_key: nearest = null }) => (key === undefined ? [] : [{ key, nearest }]));

interface FindingProps<F> {
  readonly finding: F;
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
}

function KeyFinding({
  finding: { key, nearest },
  trainer,
  draft: { config },
  change,
}: FindingProps<UnknownKey> & { readonly trainer: Trainer }) {
  const t = useSubmitT();
  const name = key.split('.').at(-1) ?? key;
  const position = findKey(config, name);
  return (
    <li>
      {lineText(config, position?.start ?? null, t)} <code>{name}</code>{' '}
      {t('submit.unknownKey', { trainer: trainer.title })}{' '}
      {nearest !== null && position !== null && (
        <Button
          onClick={() =>
            change({ config: config.slice(0, position.start) + nearest + config.slice(position.end) })
          }
        >
          {t('submit.replaceBy', { name: nearest })}
        </Button>
      )}
    </li>
  );
}

function ValueLine({ finding, draft: { config, format }, change }: FindingProps<ValueFinding>) {
  const t = useSubmitT();
  const { at, value, nearest, problem } = finding;
  const open = useMemo(() => openConfigText(config, format), [config, format]);
  const text = nearest === null ? null : (open?.write(at, 'text', nearest) ?? null);
  return (
    <li>
      {lineText(config, findKey(config, String(at.at(-1)))?.start ?? null, t)}{' '}
      <code>{String(at.at(-1))}</code>
      {': '}
      {t(`submit.wrong.${problem}`, { value })}{' '}
      {text !== null && (
        <Button onClick={() => change({ config: text })}>
          {t('submit.replaceBy', { name: nearest ?? '' })}
        </Button>
      )}
    </li>
  );
}

/** Finds a key that precedes a colon or an equals sign, and returns its offsets in the text; null if there is none. */
function findKey(text: string, name: string): { readonly start: number; readonly end: number } | null {
  const pattern = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const match = new RegExp(`(?:^|["'\\s{,-])(${pattern})["']?\\s*[:=]`).exec(text);
  if (match === null) return null;
  const start = match.index + match[0].indexOf(name);
  return { start, end: start + name.length };
}

const lineText = (text: string, start: number | null, t: SubmitTranslator): string =>
  start === null ? '' : t('submit.line', { line: text.slice(0, start).split('\n').length });
