/** An option of `trainyard worker`, in help notation: `<...>` marks a value. */
interface WorkerOption {
  readonly flags: string;
  readonly description: string;
  /** May be used several times; each use adds a value. */
  readonly isRepeatable?: true;
}

/** Options of `trainyard worker`. The agent parses them, and the install script forwards them. */
export const workerOptions: readonly WorkerOption[] = [
  {
    flags: '--orchestrator-url <url>',
    description: 'where the orchestrator is (or SIMPLETUNER_ORCHESTRATOR_URL)',
  },
  {
    flags: '--worker-token <token>',
    description: 'the token of this worker, or a join token (or SIMPLETUNER_WORKER_TOKEN)',
  },
  {
    flags: '--worker-token-file <file>',
    description: 'read the token from a file that only you can read',
  },
  { flags: '--name <name>', description: "how this worker calls itself (default: the host's name)" },
  { flags: '--persistent', description: 'stay between jobs (default: leave after one)' },
  {
    flags: '--label <key=value>',
    description: 'a label for this worker; may be repeated',
    isRepeatable: true,
  },
  { flags: '--gpus <list>', description: 'use only these GPUs, such as 0,1' },
  { flags: '--work-dir <folder>', description: 'where jobs and their outputs are kept' },
  {
    flags: '--state-dir <folder>',
    description: 'where the worker keeps what it must remember, its training included',
  },
  {
    flags: '--trainer <trainer>',
    description:
      'a trainer of this rig: simpletuner=PYTHON, or ai-toolkit, kohya, onetrainer or diffusers=FOLDER, or a command with {config_path}, {output_dir} and {resume_from}; may be repeated',
    isRepeatable: true,
  },
  {
    flags: '--python <path>',
    description:
      'the Python of trainers, or a virtual environment (default: the one beside the trainer, or on PATH)',
  },
  {
    flags: '--bring <what>',
    description: 'which outputs in {output_dir} to upload: all (default), checkpoints, or none',
  },
  {
    flags: '--data-cache <size>',
    description:
      'how much disk the data of jobs may take, such as 200GB (default: half of what is free; or TRAINYARD_DATA_CACHE)',
  },
  {
    flags: '--leave-with-parent',
    description: 'leave when stdin ends, and let the training go on, as with SIGUSR2',
  },
  {
    flags: '--no-selftest',
    description: 'refuse jobs that only test the fleet: the self-test, and the sample training',
  },
  {
    flags: '--allow-config-scripts <keys>',
    description:
      'let jobs use config keys that run programs or reach beyond the job, such as post_checkpoint_script,output_dir; may be repeated',
    isRepeatable: true,
  },
  {
    flags: '--pin <sha256:...>',
    description:
      'take a server for the orchestrator by its key alone, as the panel shows it; may be repeated',
    isRepeatable: true,
  },
  { flags: '--ca-file <file>', description: "trust this certificate authority, besides the system's own" },
  { flags: '--ssl-no-verify', description: 'do not check TLS certificates: for tests only' },
  { flags: '--config <file>', description: 'settings by the names of these flags, as JSON' },
  { flags: '-v, --verbose', description: 'show what the trainer prints' },
];

/** Options such as `--name` that take the next word as their value. */
export const workerValueOptions: readonly string[] = workerOptions.flatMap(
  ({ flags }) => /(--[a-z-]+) </.exec(flags)?.[1] ?? [],
);
