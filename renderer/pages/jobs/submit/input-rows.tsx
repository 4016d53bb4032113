import type { JobId } from '../../../../protocol/ids.ts';
import { Button } from '../../../ui/button.tsx';
import { Choice, TextField } from '../field.tsx';
import { useInputT } from '../inputs/texts.tsx';
import { inputKinds, type InputRow } from './draft.ts';

interface InputRowsProps {
  /** The parent job that provides the files. */
  readonly job: { readonly id: JobId; readonly name: string };
  /** The inputs from all parent jobs. */
  readonly inputs: readonly InputRow[];
  readonly onChange: (inputs: readonly InputRow[]) => void;
}

/** Edits the files that a job uses from one of its parent jobs. */
export function InputRows({ job, inputs, onChange }: InputRowsProps) {
  const t = useInputT();
  const put = (id: number, part: Partial<InputRow>): void =>
    onChange(inputs.map(row => (row.id === id ? { ...row, ...part } : row)));
  const add = (): void => {
    const id = Math.max(0, ...inputs.map(row => row.id)) + 1;
    onChange([...inputs, { id, from: job.id, name: freeName(inputs), kind: 'result', path: '' }]);
  };
  return (
    <div className="input-rows">
      {inputs
        .filter(({ from }) => from === job.id)
        .map(({ id, name, kind, path }) => (
          <div key={id} className="input-row" role="group" aria-label={t('inputs.file', { name: job.name })}>
            <Choice
              label={t('inputs.file', { name: job.name })}
              value={kind}
              choices={inputKinds.map(each => [each, t(`inputs.${each}`)] as const)}
              onChange={next => put(id, { kind: next })}
            />
            {kind === 'path' && (
              <TextField
                label={t('inputs.where')}
                hint={t('inputs.whereHint')}
                value={path}
                onChange={next => put(id, { path: next })}
              />
            )}
            <TextField
              label={t('inputs.name')}
              hint={t('inputs.hint', { placeholder: `{{inputs.${name.trim()}}}` })}
              value={name}
              onChange={next => put(id, { name: next })}
            />
            <Button
              kind="quiet"
              aria-label={t('inputs.remove', { input: name })}
              onClick={() => onChange(inputs.filter(row => row.id !== id))}
            >
              ×
            </Button>
          </div>
        ))}
      <div>
        <Button onClick={add}>{t('inputs.add', { name: job.name })}</Button>
      </div>
    </div>
  );
}

/** Returns an unused name: `lora` for the first input, because most inputs are LoRAs; otherwise `lora-2` and so on. */
function freeName(inputs: readonly InputRow[]): string {
  const isFree = (name: string): boolean => inputs.every(row => row.name !== name);
  if (isFree('lora')) return 'lora';
  for (let n = 2; ; n += 1) if (isFree(`lora-${n}`)) return `lora-${n}`;
}
