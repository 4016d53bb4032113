import type { Screen } from '../../main/cli/invocation.ts';
import { runCli } from '../../main/cli/program.ts';

export interface CliOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What stdout and stderr are; by default no screen. */
  readonly screen?: Screen;
  /** What the person at the terminal answers; by default nobody is there. */
  readonly answer?: string | null;
  /** Hears what is written, as it comes. */
  readonly onText?: (text: string) => void;
}

export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** What the person was asked. */
  readonly questions: readonly string[];
}

/** Runs a command of `trainyard` in this process. */
export async function runTrainyard(argv: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const { env = {}, screen = null, answer, onText } = options;
  const texts = { out: '', err: '' };
  const questions: string[] = [];
  const write = (where: 'out' | 'err') => (text: string) => {
    texts[where] += text;
    onText?.(text);
  };
  const code = await runCli(argv, {
    // A folder of this machine's user is none of a test's business.
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
    },
    ownCommand: [],
    onSignal: () => undefined,
    onClosedPipe: () => undefined,
  });
  return { code, ...texts, questions };
}
