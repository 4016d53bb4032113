import type { Screen } from '../../main/cli/invocation.ts';
import { type ProgramDeps, runCli, runProgram } from '../../main/cli/program.ts';
import { demoFleetCommand } from '../../dev/demo-fleet/fleet.ts';

export interface CliOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The terminal of stdout and stderr; none by default. */
  readonly screen?: Screen;
  /** The user's answer to each question; null for a user who gives none. By default, the command cannot ask questions. */
  readonly answer?: string | null;
  /** Text on standard input, which is a terminal by default. */
  readonly input?: string;
  /** Called with each signal handler that the command installs. */
  readonly onSignal?: ProgramDeps['onSignal'];
  /** Called with each piece of output. */
  readonly onText?: (text: string) => void;
}

export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The questions that the command asked. */
  readonly questions: readonly string[];
}

/** Runs a command of `trainyard` in this process. */
export const runTrainyard = (argv: readonly string[], options?: CliOptions): Promise<CliRun> =>
  record(deps => runCli(argv, deps), options);

/** Runs `npm run demo-fleet` in this process. */
export const runDemoFleet = (argv: readonly string[]): Promise<CliRun> =>
  record(deps => runProgram(argv, deps, demoFleetCommand));

async function record(
  run: (deps: ProgramDeps) => Promise<number>,
  options: CliOptions = {},
): Promise<CliRun> {
  const { env = {}, screen = null, answer, input, onText, onSignal = () => undefined } = options;
  const texts = { out: '', err: '' };
  const questions: string[] = [];
  const write = (where: 'out' | 'err') => (text: string) => {
    texts[where] += text;
    onText?.(text);
  };
  const code = await run({
    // Commands must not use the folders of the user who runs the tests.
    env: {
      XDG_DATA_HOME: '/nonexistent',
      XDG_CONFIG_HOME: '/nonexistent',
      XDG_CACHE_HOME: '/nonexistent',
      ...env,
    },
    terminal: {
      out: write('out'),
      err: write('err'),
      outScreen: () => screen,
      errScreen: () => screen,
      ask:
        answer === undefined
          ? null
          : question => {
              questions.push(question);
              return Promise.resolve(answer);
            },
      stdin: input === undefined ? null : () => Promise.resolve(input),
    },
    ownCommand: [],
    onSignal,
    onClosedPipe: () => undefined,
  });
  return { code, ...texts, questions };
}
