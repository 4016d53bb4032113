import type { Command } from 'commander';
import type { Flags } from './config.ts';

/** By the names that stand in the help and in config files; what was not given is missing, defaults too. */
export const givenFlags = (command: Command): Flags => {
  const given = command.options.filter(
    option => command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  return Object.fromEntries(
    given.map(option => [
      (option.long ?? '').replace(/^--(no-)?/, ''),
      command.getOptionValue(option.attributeName()) as unknown,
    ]),
  );
};

/** What `trainyard worker` takes, and what a service of it is started with. */
export const withWorkerOptions = (command: Command): Command =>
  command
    .option('--orchestrator-url <url>', 'where the orchestrator is (or SIMPLETUNER_ORCHESTRATOR_URL)')
    .option(
      '--worker-token <token>',
      'the token of this worker, or a join token (or SIMPLETUNER_WORKER_TOKEN)',
    )
    .option('--worker-token-file <file>', 'read the token from a file that only you can read')
    .option('--name <name>', "how this worker calls itself (default: the host's name)")
    .option('--persistent', 'stay between jobs (default: leave after one)')
    .option('--label <key=value>', 'a label for this worker; may be repeated', collect)
    .option('--gpus <list>', 'use only these GPUs, such as 0,1')
    .option('--work-dir <folder>', 'where jobs and their outputs are kept')
    .option('--state-dir <folder>', 'where the worker keeps what it must remember, its training included')
    .option(
      '--trainer <trainer>',
      'simpletuner, or a command with {config_path}, {output_dir} and {resume_from}; no shell',
    )
    .option(
      '--bring <what>',
      'what the orchestrator gets of that which trainers write into {output_dir}: all (default), checkpoints, or none',
    )
    .option('--leave-with-parent', 'leave when stdin ends, and let the training go on, as with SIGUSR2')
    .option('--no-selftest', 'refuse jobs that only test the fleet: the self-test, and the sample training')
    .option(
      '--allow-config-scripts <keys>',
      'let jobs use config keys that run programs or reach beyond the job, such as post_checkpoint_script,output_dir; may be repeated',
      collect,
    )
    .option(
      '--pin <sha256:...>',
      'take a server for the orchestrator by its key alone, as the panel shows it; may be repeated',
      collect,
    )
    .option('--ca-file <file>', "trust this certificate authority, besides the system's own")
    .option('--ssl-no-verify', 'do not check TLS certificates: for tests only')
    .option('--config <file>', 'settings by the names of these flags, as JSON')
    .option('-v, --verbose', 'show what the trainer prints');

const collect = (pair: string, earlier: readonly string[] = []): readonly string[] => [...earlier, pair];
