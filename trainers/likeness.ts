import type { TrainerConfig } from '../protocol/job.ts';
import { type FieldName, type FormField, formFieldsOf, placeOf, valueAt } from './form-fields.ts';
import type { TrainerName } from './trainer.ts';

/** The maximum length of the text that `likenessOf` returns, in characters. */
const maxChars = 600;

/** Keys that distinguish kinds of models and trainings. */
const kinds = ['model_family', 'model_type', 'model_flavour', 'training_method', 'network_module'].map(
  (key): FormField => ({ name: 'model', kind: 'text', at: [[key]] }),
);

function readField(trainer: TrainerName, config: TrainerConfig, field: FormField): unknown {
  const at = placeOf(field, trainer, config);
  return at === null ? undefined : valueAt(config, at);
}

/**
 * Returns a text that is equal for configs with about the same memory use and step time. Null if the config sets no field that
 * affects them, or if the text would be too long.
 */
export function likenessOf(trainer: TrainerName, config: TrainerConfig, gpus: number): string | null {
  const shaping = [...formFieldsOf(trainer).filter(({ shapesRun }) => shapesRun === true), ...kinds];
  const values = shaping.map(field => readField(trainer, config, field));
  if (values.every(value => value === undefined)) return null;
  const text = [trainer, gpus, ...values].map(wordOf).join('|');
  return text.length > maxChars ? null : text;
}

/** Treats quoted and unquoted numbers alike, because SimpleTuner's examples contain both. */
const wordOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value ?? undefined) ?? '');

/** Returns the number of steps that a config sets; null if it sets none, or counts epochs. */
export function stepsOf(trainer: TrainerName, config: TrainerConfig): number | null {
  const fields = formFieldsOf(trainer);
  const read = (fieldName: FieldName): number => {
    const field = fields.find(({ name }) => name === fieldName);
    return field === undefined ? Number.NaN : Number(readField(trainer, config, field) ?? Number.NaN);
  };
  // If a config sets epochs, sd-scripts ignores the steps.
  if (read('epochs') > 0) return null;
  const steps = read('steps');
  return Number.isSafeInteger(steps) && steps > 0 ? steps : null;
}
