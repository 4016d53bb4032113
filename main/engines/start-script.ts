import { type Joining, scriptLine, shellWord, workerArguments } from '../../protocol/join-line.ts';
import type { PoolSettings } from '../../protocol/pool.ts';

/** Environment variable that contains the join token of a launch. */
export const tokenVariable = 'TRAINYARD_JOIN';

/** Signal that gives the worker the notice. The worker then saves, uploads, stops the trainer and exits. */
export const noticeSignal = 'USR1';

export interface StartOptions extends Pick<Joining, 'url' | 'pin'> {
  /** SHA-256 of the orchestrator's install script. */
  readonly installSha256: string;
  readonly settings: Pick<PoolSettings, 'setup' | 'worker_options' | 'worker_program'>;
  readonly workerName: string;
}

/**
 * Returns commands for a POSIX shell that start the worker of a launch. The worker replaces the shell, so it gets the signals for
 * the shell's process. The commands contain no secret: the worker reads the join token from the environment. The worker stores
 * its state and jobs in TRAINYARD_FOLDER, by default a new temporary folder.
 */
export function startScript({ url, pin, installSha256, settings, workerName }: StartOptions): string {
  const words = workerArguments({ url, pin, name: workerName, persistent: true });
  const ownOptions = `--state-dir "$TRAINYARD_FOLDER/state" --notice-signal ${noticeSignal}`;
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
set -- ${words} ${ownOptions}${options === '' ? '' : ` ${options}`}
${start}
exit 1
`;
}
