import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react';
import {
  type Completion,
  completionAt,
  type TrainerArguments,
  type TrainerName,
} from '../../../../trainers/index.ts';
import { Field } from '../field.tsx';
import { formatOfText } from './config-text.ts';
import type { Draft } from './draft.ts';
import { useSubmitT } from './texts.tsx';

interface EditorProps {
  readonly draft: Draft;
  readonly error: string | undefined;
  readonly trainer: TrainerName | null;
  readonly known: TrainerArguments | null;
  readonly change: (part: Partial<Draft>) => void;
}

const [minRows, maxRows] = [10, 30];

/** State of the completion list. Arrow keys move in the list, Enter selects, Escape closes. Tab leaves the text field. */
function useCompletion({ draft: { config, format }, trainer, known, change }: Omit<EditorProps, 'error'>) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [offer, setOffer] = useState<Completion | null>(null);
  const [at, setAt] = useState(-1);
  const caretAfter = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (caretAfter.current === null) return;
    area.current?.setSelectionRange(caretAfter.current, caretAfter.current);
    caretAfter.current = null;
  }, [config]);

  const close = (): void => {
    setOffer(null);
    setAt(-1);
  };
  const updateOffer = (text: string, caret: number, isRequested: boolean): void => {
    setAt(isRequested ? 0 : -1);
    setOffer(
      trainer === null || known === null
        ? null
        : completionAt({ text, caret, format }, { trainer, known }, isRequested),
    );
  };
  const take = (index: number): void => {
    const option = offer?.options[index];
    if (offer === null || option === undefined) return;
    close();
    caretAfter.current = offer.from + option.text.length;
    change({ config: config.slice(0, offer.from) + option.text + config.slice(offer.to) });
    area.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isRequested = event.key === ' ' && event.ctrlKey;
    if (isRequested) updateOffer(config, event.currentTarget.selectionStart, true);
    else if (offer === null) return;
    else if (move !== undefined) setAt((at + move + offer.options.length) % offer.options.length);
    else if (event.key === 'Escape') close();
    else if (event.key === 'Enter' && at >= 0) take(at);
    else return;
    event.preventDefault();
  };
  const onChange = (text: string, caret: number): void => {
    change({ config: text, format: formatOfText(text, format) });
    updateOffer(text, caret, false);
  };
  return { area, offer, at, close, take, onKeyDown, onChange };
}

/** The text of the config, with a list of keys and values at the cursor. */
export function ConfigEditor(props: EditorProps) {
  const { draft, error, known } = props;
  const { config, format } = draft;
  const t = useSubmitT();
  const listId = useId();
  const { area, offer, at, close, take, onKeyDown, onChange } = useCompletion(props);
  const rows = Math.min(maxRows, Math.max(minRows, config.split('\n').length + 1));
  return (
    <Field
      label={t('submit.text', { format: format.toUpperCase() })}
      hint={known === null ? undefined : t('submit.complete')}
      error={error}
    >
      {tied => (
        <div className="editor">
          <textarea
            {...tied}
            ref={area}
            className="mono"
            rows={rows}
            wrap="off"
            spellCheck={false}
            autoCapitalize="off"
            aria-autocomplete="list"
            aria-controls={listId}
            aria-activedescendant={offer !== null && at >= 0 ? `${listId}-${at}` : undefined}
            value={config}
            onChange={({ target }) => onChange(target.value, target.selectionStart)}
            onKeyDown={onKeyDown}
            onClick={close}
            onBlur={close}
          />
          <div
            id={listId}
            role="listbox"
            aria-label={t('submit.options')}
            hidden={offer === null}
            className="picker-list editor-list"
            style={offer === null ? undefined : listPosition(area.current, config, offer.from)}
          >
            {offer?.options.map(({ label }, index) => (
              <div
                key={label}
                id={`${listId}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === at}
                data-active={index === at}
                className="picker-option mono"
                onMouseDown={event => {
                  event.preventDefault();
                  take(index);
                }}
              >
                {label}
              </div>
            ))}
          </div>
          <span className="unseen" role="status">
            {offer === null ? '' : t('submit.optionCount', { count: offer.options.length })}
          </span>
        </div>
      )}
    </Field>
  );
}

/** Places the list below the line of the cursor. Lines do not wrap, and all lines have the same height. */
function listPosition(area: HTMLTextAreaElement | null, text: string, from: number) {
  if (area === null) return undefined;
  const lines = text.slice(0, from).split('\n');
  const style = getComputedStyle(area);
  const lineHeight = Number.parseFloat(style.lineHeight) || 20;
  const top = Number.parseFloat(style.paddingTop) + lines.length * lineHeight - area.scrollTop + 4;
  const column = Math.min(lines.at(-1)?.length ?? 0, 40);
  return { top: `${Math.min(top, area.clientHeight)}px`, left: `min(${column}ch, calc(100% - 240px))` };
}
