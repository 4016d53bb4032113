import type { TrainerName } from '../../trainers/index.ts';
import { nameOfChoice, pythonOf, type TrainerChoice } from './choice.ts';
import type { ProbedTrainer, TrainerProbeDeps } from './probe.ts';
import type { TrainerKeysCall } from '../connection/api-client.ts';

/** Marks the list in the output, because the imports of a trainer may also print text. */
const marker = 'trainyard-keys ';

const common = `
import ast, json, os, sys
keys = set()

def text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

def sources(*places):
    for place in places:
        top = os.path.join(sys.argv[1], place)
        if os.path.isfile(top):
            yield top
        for at, _, files in os.walk(top):
            yield from (os.path.join(at, name) for name in files if name.endswith('.py'))

def nodes(*places):
    for source in sources(*places):
        try:
            with open(source, encoding='utf-8') as file:
                yield from ast.walk(ast.parse(file.read()))
        except (OSError, SyntaxError, ValueError):
            pass

def called(node):
    return getattr(node.func, 'attr', '') if isinstance(node, ast.Call) else ''
`;

/**
 * Python programs that add a trainer's own keys to `keys`. The trainer's Python runs them, with the checkout as the first
 * argument. SimpleTuner's models register their options in code, so SimpleTuner must be imported. The keys of the other
 * trainers are read from their source text, because importing every script of sd-scripts would take minutes.
 */
const programs: Readonly<Partial<Record<TrainerName, string>>> = {
  simpletuner: `
from simpletuner.simpletuner_sdk.server.services.field_registry import field_registry
from simpletuner.helpers.configuration import cli_utils
keys.update(getattr(cli_utils, '_LEGACY_ARG_HANDLERS', ()))
for field in field_registry._fields.values():
    options = field.arg_name if isinstance(field.arg_name, (list, tuple)) else [field.arg_name]
    keys.update(name.lstrip('-') for name in [field.name, *options, *(field.aliases or [])] if name)
`,
  kohya: `
top = [name for name in os.listdir(sys.argv[1]) if name.endswith('.py')]
for node in nodes(*top, 'library'):
    if called(node) == 'add_argument':
        named = [text(word.value) for word in node.keywords if word.arg == 'dest']
        options = named or [text(word) for word in node.args]
        keys.update(name.lstrip('-').replace('-', '_') for name in options if name)
`,
  // ai-toolkit reads its config in many places, with `kwargs.get('key')`, `get_conf('key')` and `config['key']`.
  'ai-toolkit': `
for node in nodes('toolkit/config.py', 'toolkit/config_modules.py', 'jobs', 'extensions_built_in', 'extensions'):
    if called(node) in ('get', 'get_conf') and node.args:
        keys.add(text(node.args[0]))
    elif isinstance(node, ast.Subscript):
        keys.add(text(node.slice))
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        keys.add(text(node.left))
`,
  // OneTrainer has its keys as strings in its code, and also the older names that it still accepts.
  onetrainer: `
keys.update(filter(None, map(text, nodes('modules/util/config'))))
`,
};

const closing = `
print('${marker}' + json.dumps(sorted(filter(None, keys))))
`;

const isKey = (value: unknown): value is string => typeof value === 'string' && /^[\w.-]{1,100}$/.test(value);

/** A limit against wrong results: no trainer has this many keys. */
const maxKeys = 5_000;

/** Returns the keys that a trainer accepts in its configs, from its own code; null if they cannot be determined. */
export async function readKnownKeys(
  choice: TrainerChoice,
  { run, find }: TrainerProbeDeps,
): Promise<readonly string[] | null> {
  const program = programs[nameOfChoice(choice)];
  if (program === undefined || choice.kind === 'command') return null;
  const chosenPython = pythonOf(choice);
  const python = (chosenPython === null ? ['python', 'python3'] : [chosenPython])
    .map(find)
    .find(path => path !== null);
  if (python === undefined) return null;
  const folder = choice.kind === 'checkout' ? choice.folder : '';
  const result = await run(python, ['-c', common + program + closing, folder]);
  return result.kind === 'exited' && result.code === 0 ? listIn(result.stdout) : null;
}

function listIn(output: string): readonly string[] | null {
  const line = output.split('\n').find(each => each.startsWith(marker));
  const list = line === undefined ? null : parsed(line.slice(marker.length));
  const keys = Array.isArray(list) ? list.filter(isKey).slice(0, maxKeys) : [];
  return keys.length === 0 ? null : keys;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface TrainerKeysDeps {
  readonly trainers: readonly ProbedTrainer[];
  /** Returns null when the keys of a trainer cannot be determined. */
  readonly read: (choice: ProbedTrainer['choice']) => Promise<readonly string[] | null>;
  readonly send: TrainerKeysCall;
}

/**
 * Reports the keys of these trainers. If a report fails, the orchestrator requests the keys again at the next
 * registration.
 */
export type ReportTrainerKeys = (wanted: readonly string[]) => Promise<void>;

/** Reads each list once, because reading takes as long as importing the trainer. */
export function createTrainerKeys({ trainers, read, send }: TrainerKeysDeps): ReportTrainerKeys {
  const lists = new Map<string, ReturnType<TrainerKeysDeps['read']>>();
  const listOf = (name: string): ReturnType<TrainerKeysDeps['read']> => {
    const trainer = trainers.find(({ choice, problem }) => problem === null && nameOfChoice(choice) === name);
    const list = lists.get(name) ?? (trainer === undefined ? Promise.resolve(null) : read(trainer.choice));
    lists.set(name, list);
    return list;
  };
  return async names => {
    for (const name of names) {
      const keys = await listOf(name);
      if (keys !== null) await send(name, keys);
    }
  };
}
