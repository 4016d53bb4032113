import { type TrainerArguments, valuesOf } from './arguments.ts';
import type { ConfigFormat } from './config-text.ts';
import type { TrainerName } from './trainer.ts';

/** Suggestions for the cursor. A chosen suggestion replaces the text between `from` and `to`. */
export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly options: readonly { readonly label: string; readonly text: string }[];
}

const maxOptions = 8;

interface Syntax {
  /** Matches the line up to the cursor where a key is expected. The last group is the typed part. */
  readonly key: RegExp;
  /** Matches the line up to the cursor where a value is expected. Groups: the key, the opening quote and the typed part. */
  readonly value: RegExp;
  /** The text between a completed key and its value. */
  readonly colon: string;
  readonly needsQuotes: boolean;
}

const syntaxes: Readonly<Record<ConfigFormat, Syntax>> = {
  json: {
    key: /(?:^|[{,])\s*"((?:--)?[\w-]*)$/,
    value: /"((?:--)?[\w-]+)"\s*:\s*("?)([\w./-]*)$/,
    colon: '": ',
    needsQuotes: true,
  },
  yaml: {
    key: /^\s*(?:-\s+)*([\w-]*)$/,
    value: /^\s*(?:-\s+)*([\w-]+):\s+(["']?)([\w./-]*)$/,
    colon: ': ',
    needsQuotes: false,
  },
  toml: {
    key: /^\s*([\w-]*)$/,
    value: /^\s*([\w-]+)\s*=\s*(["']?)([\w./-]*)$/,
    colon: ' = ',
    needsQuotes: true,
  },
};

/** Returns suggestions for the cursor; null for none. With `isAsked`, suggests keys even before the user types a character. */
export function completionAt(
  { text, caret, format }: { readonly text: string; readonly caret: number; readonly format: ConfigFormat },
  { trainer, known: knownArguments }: { readonly trainer: TrainerName; readonly known: TrainerArguments },
  isAsked: boolean,
): Completion | null {
  const line = text.slice(text.lastIndexOf('\n', caret - 1) + 1, caret);
  const afterCaret = /^[^\n]*/.exec(text.slice(caret))?.[0] ?? '';
  const syntax = syntaxes[format];
  const [, key, quote = '', typedValue = ''] = syntax.value.exec(line) ?? [];
  if (key !== undefined) {
    const kind = knownArguments.get(key.replace(/^-+/, ''));
    const isText = kind !== 'boolean' && kind !== 'number' && kind !== 'integer';
    const quoteMark = syntax.needsQuotes && isText && quote === '' ? '"' : '';
    const options = matching(valuesOf(trainer, knownArguments, key), typedValue).map(label => ({
      label,
      text: `${quoteMark}${label}${quoteMark}`,
    }));
    return completion(caret, typedValue, afterCaret, options);
  }
  const [, typed] = syntax.key.exec(line) ?? [];
  if (typed === undefined || (typed === '' && !isAsked)) return null;
  const dashes = /^-*/.exec(typed)?.[0] ?? '';
  const word = typed.slice(dashes.length);
  const isBare = /^[\w-]*\s*$/.test(afterCaret);
  const options = matching([...knownArguments.keys()], word).map(label => ({
    label,
    text: isBare ? label + syntax.colon : label,
  }));
  return completion(caret, word, afterCaret, options);
}

function completion(
  caret: number,
  typedValue: string,
  afterCaret: string,
  options: Completion['options'],
): Completion | null {
  const [first] = options;
  if (first === undefined || (options.length === 1 && first.label === typedValue)) return null;
  const rest = /^[\w./-]*/.exec(afterCaret)?.[0].length ?? 0;
  return { from: caret - typedValue.length, to: caret + rest, options };
}

/** Returns words that start with the typed part, then words that contain it. */
function matching(words: readonly string[], typed: string): readonly string[] {
  const part = typed.toLowerCase();
  const starts = words.filter(word => word.toLowerCase().startsWith(part));
  const contains = words.filter(word => word.toLowerCase().indexOf(part) > 0);
  return [...starts, ...(part === '' ? [] : contains)].slice(0, maxOptions);
}
