/** An option of `trainyard worker`, in help notation: `<...>` marks a value. */
interface WorkerOption {
  readonly flags: string;
  readonly description: string;
  /** Whether the option may be repeated; each use adds a value. */
  readonly isRepeatable?: true;
  /** Whether the help omits the option, because it is an older name of another option. */
  readonly isHidden?: true;
}

/** Options of `trainyard worker`. The agent parses them, and the install script forwards them. */
export const workerOptions: readonly WorkerOption[] = [
  {
    flags: '--orchestrator-url <url>',
    description: 'URL of the orchestrator (default: $SIMPLETUNER_ORCHESTRATOR_URL)',
  },
  {
    flags: '--worker-token <token>',
    description: 'worker token or join token (default: $SIMPLETUNER_WORKER_TOKEN)',
  },
  {
    flags: '--worker-token-file <file>',
    description: 'file with the token; it must be readable only by you',
  },
  { flags: '--name <name>', description: 'name of this worker (default: the host name)' },
  {
    flags: '--persistent',
    description:
      'keep running between jobs (default: exit after one job, as an ephemeral worker; a service always keeps running)',
  },
  {
    flags: '--label <key=value>',
    description: 'label of this worker; repeatable',
    isRepeatable: true,
  },
  { flags: '--gpus <list>', description: 'GPUs to use, such as 0,1 (default: all)' },
  {
    flags: '--hours <hours>',
    description:
      'when to take jobs, such as "20:00-08:00" or "mon-fri 20:00-08:00", in the time zone of this machine; repeatable (default: always)',
    isRepeatable: true,
  },
  {
    flags: '--yield-to-user',
    description: 'take no jobs while somebody uses a GPU, the keyboard or the mouse of this machine',
  },
  { flags: '--work-dir <folder>', description: 'folder for jobs and outputs (default: STATE-DIR/jobs)' },
  {
    flags: '--state-dir <folder>',
    description: 'folder for the state of the worker and its training',
  },
  {
    flags: '--trainer <trainer>',
    description:
      'trainer on this machine: simpletuner=PYTHON-OR-VENV; NAME=FOLDER for ai-toolkit, kohya, onetrainer or diffusers; or a command with {config_path}, {output_dir} and {resume_from}; repeatable (default: simpletuner)',
    isRepeatable: true,
  },
  {
    flags: '--python <path>',
    description:
      'Python or virtual environment for trainers (default: the one beside the trainer, or on PATH)',
  },
  {
    flags: '--upload <what>',
    description: 'outputs in {output_dir} to upload: all, checkpoints or none (default: all)',
  },
  { flags: '--bring <what>', description: 'same as --upload', isHidden: true },
  {
    flags: '--data-cache <size>',
    description:
      'maximum size of cached training data, such as 200GB (default: $TRAINYARD_DATA_CACHE, or half of the free space)',
  },
  {
    flags: '--node-address <address>',
    description:
      'address at which other workers reach this machine, for jobs on several machines (default: $TRAINYARD_NODE_ADDRESS, or the local address of its connection to the orchestrator)',
  },
  {
    flags: '--notice-signal <name>',
    description:
      'signal that announces that this machine will be taken away, such as USR1: save, upload the checkpoint, and leave',
  },
  {
    flags: '--leave-with-parent',
    description: 'exit when stdin closes, but let the training continue',
  },
  {
    flags: '--no-selftest',
    description: 'reject the jobs that test the fleet: the trainers selftest and digits',
  },
  {
    flags: '--no-remote-update',
    description: 'keep this program when the orchestrator asks to update it',
  },
  {
    flags: '--trial',
    description: 'try out this program for the worker that started it',
    isHidden: true,
  },
  {
    flags: '--allow-config-scripts <keys>',
    description:
      'config keys to allow, such as post_checkpoint_script,output_dir; they run programs or reach outside the job folder; repeatable',
    isRepeatable: true,
  },
  {
    flags: '--pin <sha256:...>',
    description: 'trust only a server with this key, as the panel shows it; repeatable',
    isRepeatable: true,
  },
  { flags: '--ca-file <file>', description: 'also trust this certificate authority (a PEM file)' },
  { flags: '--ssl-no-verify', description: 'do not check TLS certificates (for tests only)' },
  { flags: '--config <file>', description: 'JSON file with values for the options of this command' },
  { flags: '-v, --verbose', description: 'print the output of the trainer' },
];

/** Options with a value, such as `--name`. */
export const workerValueOptions: readonly string[] = workerOptions.flatMap(
  ({ flags }) => /(--[a-z-]+) </.exec(flags)?.[1] ?? [],
);
