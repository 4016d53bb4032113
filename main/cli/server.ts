import { Command, Option } from 'commander';
import { findSample } from '../../agent/simulated/sample.ts';
import { type Flags, loadServerConfig } from '../config.ts';
import { collect, flagsOf, isOn, withExamples } from './flags.ts';
import type { Invocation } from './invocation.ts';

/**
 * Waits for a message from the parent process, which builds the panel while this process loads. Resolves to false when the parent
 * disconnects without a message.
 */
function waitForParent(): Promise<boolean> {
  return new Promise(resolve => {
    if (!process.connected) return resolve(false);
    process.once('disconnect', () => resolve(false));
    process.once('message', () => {
      resolve(true);
      process.disconnect();
    });
  });
}

const examples = ['trainyard server --configs-dir ~/configs', 'trainyard server --host 0.0.0.0 --ssl'];

export function serverCommand(invocation: Invocation): Command {
  const { exit } = invocation;
  const command = withExamples(new Command('server').description('Run the orchestrator'), examples);
  return withLocalWorkerOptions(withDataOptions(withNetworkOptions(command)))
    .option('--config <file>', 'JSON file with values for the options of this command')
    .option('--json', 'print one line of JSON when ready, and log in JSON')
    .option('--log-requests', 'log each request')
    .addOption(new Option('--once-told').hideHelp())
    .action(async (_options: unknown, self: Command) => exit(await serve(flagsOf(self), invocation)));
}

const withNetworkOptions = (command: Command): Command =>
  command
    .option('--host <address>', 'address to listen on (default: 127.0.0.1, or as set in the panel)')
    .option('--port <port>', 'port to listen on; 0 for any free one (default: 8001)')
    .option('--allow-host <name>', 'additional host name of the server; repeatable', collect)
    .option(
      '--notify-allow <host>',
      'host that may get notifications at a private address or without TLS; repeatable',
      collect,
    )
    .option(
      '--public-url <url>',
      'address for join commands and sign-in links, such as that of a proxy (default: $TRAINYARD_PUBLIC_URL)',
    )
    .option(
      '--trust-proxy <proxies>',
      'proxies whose X-Forwarded-For header to trust: addresses and networks separated by commas (also loopback, linklocal, uniquelocal), or the number of proxies',
    )
    .option(
      '--ssl',
      'use TLS for other machines, with a certificate that the first start creates; connections from this machine keep using HTTP',
    )
    .option('--no-ssl', 'use plain HTTP, regardless of the panel setting')
    .option('--ssl-cert <file>', 'your own certificate with its chain, in PEM')
    .option('--ssl-key <file>', 'private key of --ssl-cert, in PEM');

const withDataOptions = (command: Command): Command =>
  command
    .option(
      '--data-dir <folder>',
      'folder for the database, files and the admin token (default on Linux: ~/.local/share/trainyard)',
    )
    .option('--configs-dir <folder>', 'folder with training configs (default: DATA-DIR/configs)')
    .option(
      '--heartbeat-timeout <seconds>',
      'time without contact until a worker is offline (default: $SIMPLETUNER_HEARTBEAT_TIMEOUT, or 120)',
    )
    .option(
      '--v1-silence <seconds>',
      "longer timeout for SimpleTuner's own (v1) workers, which send no heartbeat while their trainer prints nothing; 0 for the same timeout (default: 0)",
    )
    .option(
      '--audit-retention-days <days>',
      'remove audit entries after this time (default: $SIMPLETUNER_AUDIT_RETENTION_DAYS, or never)',
    )
    .option(
      '--audit-witness <file or URL>',
      'also write the newest row of the audit trail to a file outside the data folder, or send it to an https:// URL; repeatable',
      collect,
    )
    .option('--artifacts-per-job <GiB>', 'maximum size of the files of one job (default: 50)')
    .option('--artifacts-in-all <GiB>', 'maximum size of the files of all jobs (default: 500)')
    .option('--datasets-in-all <GiB>', 'maximum size of all datasets; 0 for no limit (default: 0)')
    .option(
      '--keep-checkpoints <count>',
      'number of newest checkpoints to keep for each job, besides the best one and the one to resume from; 0 keeps all (default: 3)',
    )
    .option('--disk-reserve <GiB>', 'free disk space below which uploads are rejected (default: 2)')
    .option('--log-per-attempt <MiB>', 'maximum size of the log of one attempt (default: 256)')
    .option(
      '--log-retention-days <days>',
      'remove logs this long after the job ended; 0 keeps them as long as the job (default: 30)',
    )
    .option(
      '--trust-clock',
      'trust the clock of this machine although it contradicts the time of the last run; for when that time was wrong',
    );

const withLocalWorkerOptions = (command: Command): Command =>
  command
    .option(
      '--local-worker',
      'also run jobs on this machine, with a worker that starts and stops with the server',
    )
    .option('--no-local-worker', 'run no jobs on this machine, regardless of the panel setting')
    .option('--local-worker-gpus <list>', 'GPUs of the local worker, such as 0,1 (default: all)')
    .option(
      '--local-worker-trainer <trainer>',
      'trainer of the local worker, such as simpletuner=PYTHON or kohya=FOLDER; or a command, as for "trainyard worker" (default: simpletuner)',
    )
    .option(
      '--local-worker-work-dir <folder>',
      'folder for jobs and outputs of the local worker (default: DATA-DIR/local-worker/jobs)',
    )
    .option(
      '--local-worker-allow-config-scripts <keys>',
      'restricted config keys to allow; they run programs or reach outside the job folder (default: none)',
    );

async function serve(flags: Flags, { env, terminal, ownCommand }: Invocation): Promise<number> {
  const config = loadServerConfig(flags, env);
  if (!config.ok) {
    terminal.err(`${config.refusal.detail}\n`);
    return 2;
  }
  // Load the server only here, because loading Express and SQLite takes longer than most other commands.
  const { runServer } = await import('../server.ts');
  if (isOn(flags, 'once-told') && !(await waitForParent())) return 1;
  const agent = { command: [...ownCommand, 'worker'], env, hasSample: findSample() !== null };
  const logging = { json: isOn(flags, 'json'), requests: isOn(flags, 'log-requests') };
  return runServer(config.value, logging, terminal, agent);
}
