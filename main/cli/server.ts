import { Command, Option } from 'commander';
import { findSample } from '../../agent/sample.ts';
import { type Flags, loadServerConfig } from '../config.ts';
import { collect, flagsOf, isOn } from './flags.ts';
import type { Invocation } from './invocation.ts';

/**
 * Waits for a message from the parent process, which builds the panel while this process loads. Resolves to false when the parent
 * disconnects first.
 */
function isTold(): Promise<boolean> {
  return new Promise(resolve => {
    if (!process.connected) return resolve(false);
    process.once('disconnect', () => resolve(false));
    process.once('message', () => {
      resolve(true);
      process.disconnect();
    });
  });
}

export function serverCommand(invocation: Invocation): Command {
  const { exit } = invocation;
  const command = new Command('server').description('Run the orchestrator without a display');
  return withLocalWorkerOptions(withDataOptions(withNetworkOptions(command)))
    .option('--config <file>', 'settings by the names of these flags, as JSON')
    .option('--json', 'print one line of JSON when ready, and log as JSON')
    .option('--log-requests', 'log a line for each request, too')
    .addOption(new Option('--once-told').hideHelp())
    .action(async (_options: unknown, self: Command) => exit(await serve(flagsOf(self), invocation)));
}

const withNetworkOptions = (command: Command): Command =>
  command
    .option('--host <address>', 'address to listen on (default: 127.0.0.1, or as set in the panel)')
    .option('--port <port>', 'port to listen on; 0 for any free one (default: 8001)')
    .option(
      '--allow-host <name>',
      'a name that it goes by beside those of the machine; repeat it for more',
      collect,
    )
    .option(
      '--public-url <url>',
      'its address in join commands and sign-in links, such as that of a proxy (or TRAINYARD_PUBLIC_URL)',
    )
    .option(
      '--trust-proxy <proxies>',
      'proxies that may name the address of a client in X-Forwarded-For: addresses and networks with commas between them (also loopback, linklocal, uniquelocal), or how many proxies each call passes',
    )
    .option(
      '--ssl',
      'speak TLS with other machines, with a certificate that is made at the first start; this machine is spoken to as before',
    )
    .option('--no-ssl', 'speak plain HTTP with them, whatever is set in the panel')
    .option(
      '--ssl-cert <file>',
      'a certificate of yours for that, as PEM, with those that it needs behind it',
    )
    .option('--ssl-key <file>', 'the key that it is of, as PEM');

const withDataOptions = (command: Command): Command =>
  command
    .option('--data-dir <folder>', 'where the database and the admin token are kept')
    .option('--configs-dir <folder>', 'where training configs are read from (default: DATA-DIR/configs)')
    .option(
      '--heartbeat-timeout <seconds>',
      'silence after which a worker is offline (default: 120, or SIMPLETUNER_HEARTBEAT_TIMEOUT)',
    )
    .option(
      '--v1-silence <seconds>',
      "more silence for SimpleTuner's own agents, which send no heartbeat while their trainer prints nothing",
    )
    .option(
      '--audit-retention-days <days>',
      'remove older entries of the audit trail (default: keep all; or SIMPLETUNER_AUDIT_RETENTION_DAYS)',
    )
    .option(
      '--audit-witness <file or URL>',
      'tell the newest row of the audit trail to a file outside the data folder, or to an https:// URL; repeat it for more',
      collect,
    )
    .option('--artifacts-per-job <GiB>', 'how much the files of one job may take up (default: 50)')
    .option('--artifacts-in-all <GiB>', 'how much those of all jobs may take up (default: 500)')
    .option(
      '--datasets-in-all <GiB>',
      'how much the data of all datasets may take up; 0 for no limit (default: 0)',
    )
    .option(
      '--keep-checkpoints <count>',
      'of how many of its newest steps a job keeps checkpoints, beside the best one and the one that it continues from; 0 keeps all (default: 3)',
    )
    .option(
      '--disk-reserve <GiB>',
      'no files are taken when less than this would be left of the disk (default: 2)',
    )
    .option('--log-per-attempt <MiB>', 'how much of what a trainer prints is kept (default: 256)')
    .option(
      '--log-retention-days <days>',
      'remove the logs of jobs that ended earlier; 0 keeps them as long as their jobs (default: 30)',
    )
    .option(
      '--trust-clock',
      'believe the clock of the machine, although it does not agree with the time that has passed since the last run',
    );

const withLocalWorkerOptions = (command: Command): Command =>
  command
    .option(
      '--local-worker',
      'run jobs on this machine, too: with a worker that comes and goes with the server',
    )
    .option('--no-local-worker', 'run none here, whatever is set in the panel')
    .option('--local-worker-gpus <list>', 'it uses only these GPUs, such as 0,1 (default: all)')
    .option(
      '--local-worker-trainer <trainer>',
      'its trainer, as for "trainyard worker": such as simpletuner=PYTHON or kohya=FOLDER, or a command (default: simpletuner)',
    )
    .option(
      '--local-worker-work-dir <folder>',
      'where its jobs and their outputs are kept (default: DATA-DIR/local-worker/jobs)',
    )
    .option(
      '--local-worker-allow-config-scripts <keys>',
      'config keys that its jobs may use although they run programs or reach beyond the job (default: none)',
    );

async function serve(flags: Flags, { env, terminal, ownCommand }: Invocation): Promise<number> {
  const config = loadServerConfig(flags, env);
  if (!config.ok) {
    terminal.err(`${config.refusal.detail}\n`);
    return 2;
  }
  // Loading Express and SQLite takes longer than most other commands take in total.
  const { runServer } = await import('../server.ts');
  if (isOn(flags, 'once-told') && !(await isTold())) return 1;
  const agent = { command: [...ownCommand, 'worker'], env, hasSample: findSample() !== null };
  const logging = { json: isOn(flags, 'json'), requests: isOn(flags, 'log-requests') };
  return runServer(config.value, logging, terminal, agent);
}
