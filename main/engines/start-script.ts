import { type Joining, scriptLine, shellWord, workerArguments } from '../../protocol/join-line.ts';
import type { PoolSettings } from '../../protocol/pool.ts';

/** Environment variable in which a launch gets its join token. */
export const tokenVariable = 'TRAINYARD_JOIN';

/** The worker takes this signal as "your machine will be taken away soon": it saves, uploads, stops the trainer and leaves. */
export const noticeSignal = 'USR1';

export interface StartOptions extends Pick<Joining, 'url' | 'pin'> {
  /** SHA-256 of the orchestrator's install script. */
  readonly installSha256: string;
  readonly settings: Pick<PoolSettings, 'setup' | 'worker_options' | 'worker_program'>;
  readonly workerName: string;
}

/**
 * Returns the commands for a POSIX shell that start the worker of a launch. The worker takes the place of the shell, so a signal to the
 * shell's process reaches it. The commands hold no secret: the join token is in the environment, where only the worker gets it. State
 * and jobs of the worker are in TRAINYARD_FOLDER, which is a new temporary folder by default.
 */
export function startScript({ url, pin, installSha256, settings, workerName }: StartOptions): string {
  const words = workerArguments({ url, pin, name: workerName, persistent: true });
  const own = `--state-dir "$TRAINYARD_FOLDER/state" --notice-signal ${noticeSignal}`;
  const options = settings.worker_options.replaceAll(/\s*\n\s*/g, ' ').trim();
  const program = settings.worker_program;
  const start =
    program === null
      ? scriptLine(
          { url, pin },
          { sha256: installSha256, args: '--dir "$TRAINYARD_FOLDER/bin" "$@"', inPlace: true },
        )
      : `exec ${shellWord(program)} "$@" </dev/null`;
  return `trainyard_join=\${${tokenVariable}:-}
unset ${tokenVariable}
${settings.setup.trim()}
if [ -z "\${TRAINYARD_FOLDER:-}" ]; then
  TRAINYARD_FOLDER=$(mktemp -d "\${TMPDIR:-/tmp}/trainyard.XXXXXX") || exit 1
fi
SIMPLETUNER_WORKER_TOKEN=$trainyard_join
export SIMPLETUNER_WORKER_TOKEN TRAINYARD_FOLDER
unset trainyard_join
set -- ${words} ${own}${options === '' ? '' : ` ${options}`}
${start}
exit 1
`;
}
