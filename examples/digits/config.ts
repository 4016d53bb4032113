import { readFile } from 'node:fs/promises';
import { accepted, type Checked, refused, systemErrorText } from './checked.ts';

export type TrainingConfig = {
  readonly epochs: number;
  /** Number of images per step. */
  readonly batchSize: number;
  readonly learningRate: number;
  /** The learning rate changes linearly from `learningRate` at the first step to this value at the last. */
  readonly finalLearningRate: number;
  readonly momentum: number;
  /** Number of units in the hidden layer. */
  readonly hidden: number;
  readonly seed: number;
  /** Number of steps between two checkpoints. */
  readonly checkpointEvery: number;
  /** Number of checkpoints to keep on disk. */
  readonly keepCheckpoints: number;
  /** If true, draws samples at the end of each epoch. */
  readonly samples: boolean;
};

type Rule = {
  readonly from: number;
  readonly to: number;
  readonly whole: boolean;
  readonly fallback: number | undefined;
};

// The limits keep a step below about 0.2 s. The trainer checks for a stop only between steps, so it stops within that time.
const RULES = {
  epochs: { from: 1, to: 1000, whole: true, fallback: undefined },
  batch_size: { from: 1, to: 1024, whole: true, fallback: undefined },
  learning_rate: { from: 1e-6, to: 1000, whole: false, fallback: undefined },
  final_learning_rate: { from: 1e-6, to: 1000, whole: false, fallback: undefined },
  momentum: { from: 0, to: 0.999, whole: false, fallback: 0.9 },
  hidden: { from: 1, to: 512, whole: true, fallback: undefined },
  seed: { from: 0, to: 2 ** 32 - 1, whole: true, fallback: 1 },
  checkpoint_every: { from: 1, to: 1_000_000, whole: true, fallback: 500 },
  keep_checkpoints: { from: 1, to: 1000, whole: true, fallback: 3 },
} satisfies Record<string, Rule>;

/** Keys that only the orchestrator reads. The trainer ignores them. */
const ORCHESTRATOR_KEYS = new Set(['trainer', 'num_processes', 'description']);

/** Reads a config file. A refusal names the file, the key, and the allowed values. */
export async function readTrainingConfig(path: string): Promise<Checked<TrainingConfig>> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return refused(`config ${path} is not valid JSON: ${error.message}`);
    return refused(`cannot read the config: ${systemErrorText(error)}`);
  }
  const parsed = parseTrainingConfig(value);
  return parsed.ok ? parsed : refused(`config ${path}: ${parsed.reason}`);
}

/** Validates the parsed JSON of a config. Reports only the first problem. */
export function parseTrainingConfig(value: unknown): Checked<TrainingConfig> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused('expected an object, {"epochs": 2, ...}');
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  const knownKeys = [...Object.keys(RULES), 'samples'];
  for (const key of fields.keys()) {
    if (knownKeys.includes(key) || ORCHESTRATOR_KEYS.has(key) || key.startsWith('$')) continue;
    return refused(`"${key}" is not a key of this trainer; its keys are ${knownKeys.join(', ')}`);
  }
  const problems: string[] = [];
  const read = (key: keyof typeof RULES, fallback: number | undefined = RULES[key].fallback): number => {
    const number = fields.has(key) ? fields.get(key) : fallback;
    if (typeof number === 'number' && isAllowed(number, RULES[key])) return number;
    const problem = number === undefined ? 'it is missing' : `it is ${JSON.stringify(number)}`;
    problems.push(`"${key}" must be ${describe(RULES[key])}, but ${problem}`);
    return Number.NaN;
  };
  const samples = fields.get('samples') ?? false;
  if (typeof samples !== 'boolean')
    problems.push(`"samples" must be true or false, but it is ${JSON.stringify(samples)}`);
  const learningRate = read('learning_rate');
  const config: TrainingConfig = {
    epochs: read('epochs'),
    batchSize: read('batch_size'),
    learningRate,
    finalLearningRate: read('final_learning_rate', learningRate),
    momentum: read('momentum'),
    hidden: read('hidden'),
    seed: read('seed'),
    checkpointEvery: read('checkpoint_every'),
    keepCheckpoints: read('keep_checkpoints'),
    samples: samples === true,
  };
  const [firstProblem] = problems;
  return firstProblem === undefined ? accepted(config) : refused(firstProblem);
}

function isAllowed(number: number, rule: Rule): boolean {
  return number >= rule.from && number <= rule.to && (!rule.whole || Number.isInteger(number));
}

function describe(rule: Rule): string {
  return `a ${rule.whole ? 'whole number' : 'number'} from ${rule.from} to ${rule.to}`;
}
