import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { workersApi } from '../../protocol/admin-api.ts';
import { type CallFailure, type Client, createClient } from '../../protocol/client.ts';
import type { UiEvent } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { isFinal, type JobView } from '../../protocol/job.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { type Child, startChild } from './child.ts';
import { openEvents } from './event-feed.ts';
import type { CliTerminal, Invocation } from './invocation.ts';
import { createProgressDisplay, duration } from './progress-bar.ts';
import { plainLines } from './table.ts';

const example = (file: string): string =>
  fileURLToPath(new URL(`../../examples/digits/${file}`, import.meta.url));

const jobName = 'digits-quick';
const workerName = 'demo-rig';
/** The accuracy that the description of the example promises. */
const minAccuracy = 0.95;

/** Creates the command that runs a whole training job on this machine, for a first impression. */
export function demoCommand(invocation: Invocation): Command {
  return new Command('demo')
    .description('Run a demo: an orchestrator and a worker in a temporary folder train a small network')
    .option('--keep', 'leave both running after the training')
    .action(async (options: { readonly keep?: boolean }) => {
      const started: Child[] = [];
      const stopAll = async (): Promise<void> => {
        // Stop the worker first, so that it can sign off from the orchestrator.
        for (const child of started.toReversed()) await child.stop();
      };
      invocation.onSignal('SIGINT', () => void stopAll().then(() => process.exit(130)));
      try {
        invocation.exit(await runDemo(invocation, started, options.keep === true));
      } catch (cause) {
        invocation.terminal.err(
          `The demo failed: ${cause instanceof Error ? cause.message : String(cause)}\n`,
        );
        invocation.exit(1);
      } finally {
        if (options.keep) for (const child of started) child.detach();
        else await stopAll();
      }
    });
}

interface Demo {
  readonly invocation: Invocation;
  readonly folder: string;
  readonly url: string;
  readonly token: string;
  readonly tokenFile: string;
  readonly client: Client;
  readonly started: Child[];
}

async function runDemo(invocation: Invocation, started: Child[], keep: boolean): Promise<number> {
  const { out } = invocation.terminal;
  const startedAt = performance.now();
  const demo = await startOrchestrator(invocation, started);
  out(`Orchestrator   ${demo.url}\n`);
  const ended = new AbortController();
  // Open the stream first, so that it carries every event.
  const events = await openEvents({ url: demo.url, token: demo.token, signal: ended.signal });
  const workerId = await startWorker(demo);
  out(`Worker         ${workerName} (${workerId}), a process of its own\n`);
  const jobId = await submit(demo);
  out(`Job            ${jobId}: ${jobName}, 60,000 handwritten digits\n\n`);
  const crash = started.map(async (child): Promise<never> => {
    await child.exited;
    throw new Error(`a process exited early. Its log is in ${demo.folder}`);
  });
  const job = await Promise.race([followJob(events, jobId, invocation.terminal), ...crash]);
  ended.abort();
  return printResult(demo, job, { keep, seconds: (performance.now() - startedAt) / 1000 });
}

async function startOrchestrator(invocation: Invocation, started: Child[]): Promise<Demo> {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-demo-'));
  const configs = join(folder, 'configs');
  mkdirSync(configs);
  copyFileSync(example(`configs/${jobName}.json`), join(configs, `${jobName}.json`));
  const server = startChild({
    argv: [...invocation.ownCommand, 'server', '--port', '0', '--data-dir', folder, '--json'],
    env: invocation.env,
    logFile: join(folder, 'server.log'),
  });
  started.push(server);
  const url = await server.ready(readyUrl);
  const tokenFile = join(folder, 'admin-token');
  const token = readFileSync(tokenFile, 'utf8').trim();
  const client = createClient({
    baseUrl: url,
    headers: () => ({ authorization: `Bearer ${token}` }),
    timeoutMs: 10_000,
  });
  return { invocation, folder, url, token, tokenFile, client, started };
}

function readyUrl(line: string): string | null {
  const ready: unknown = JSON.parse(line);
  const url = typeof ready === 'object' && ready !== null && 'url' in ready ? ready.url : null;
  return typeof url === 'string' ? url : null;
}

async function startWorker({ invocation, folder, url, client, started }: Demo): Promise<WorkerId> {
  const { worker_id: workerId, token } = valueOf(
    await client.call(workersApi.create, { body: { name: workerName, worker_type: 'persistent' } }),
  );
  const trainer = [
    process.execPath,
    example('train.ts'),
    '--config',
    '{config_path}',
    '--output',
    '{output_dir}',
  ];
  const options = ['--orchestrator-url', url, '--name', workerName, '--persistent'];
  const worker = startChild({
    argv: [
      ...invocation.ownCommand,
      'worker',
      ...options,
      '--trainer',
      [...trainer, '--resume-from', '{resume_from}'].map(quoted).join(' '),
    ],
    // Pass the token in the environment: every user of the machine can read the arguments of a process.
    env: { ...invocation.env, SIMPLETUNER_WORKER_TOKEN: token, XDG_STATE_HOME: join(folder, 'state') },
    logFile: join(folder, 'worker.log'),
  });
  started.push(worker);
  return workerId;
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

async function submit({ client }: Demo): Promise<JobId> {
  const body = { config_name: jobName, target: 'worker' as const };
  const answer = valueOf(await client.call(queueApi.submit, { body }));
  if (answer.job_id === null) throw new Error(`the job was rejected: ${answer.reason}`);
  return answer.job_id;
}

async function followJob(
  events: AsyncIterable<UiEvent>,
  jobId: JobId,
  { out, outScreen }: CliTerminal,
): Promise<JobView> {
  const display = createProgressDisplay(out, outScreen);
  for await (const event of events) {
    if (event.kind !== 'job' || event.job_id !== jobId || event.job === null) continue;
    if (event.job.progress !== null) display.show(event.job.progress);
    if (!isFinal(event.job.status)) continue;
    display.finish();
    return event.job;
  }
  throw new Error('the orchestrator ended the event stream before the job was done');
}

function printResult(
  { folder, url, tokenFile, started, invocation }: Demo,
  job: JobView,
  { keep, seconds }: { readonly keep: boolean; readonly seconds: number },
): number {
  const { out, err } = invocation.terminal;
  const accuracy = job.progress?.metrics?.['accuracy'] ?? 0;
  if (job.status !== 'completed') {
    err(
      `The job ended as ${job.status}: ${plainLines(job.error_message ?? 'no reason given').join('\n')}\nMore in ${folder}\n`,
    );
    return 1;
  }
  const checkpoint = checkpointOf(join(folder, 'state/trainyard', workerName, 'jobs', job.id, 'output'));
  out(`\nDone in ${duration(seconds)}: ${(100 * accuracy).toFixed(2)} % of 10,000 test digits read right\n`);
  out(`Checkpoint     ${checkpoint ?? 'none was written'}\n`);
  if (keep) {
    const pids = started.map(({ pid }) => pid).join(' ');
    out(`Still running  to stop both, run: kill ${pids}\n`);
    out(`The API        curl -H "Authorization: Bearer $(cat ${tokenFile})" ${url}/api/queue\n`);
  } else {
    out(`Kept in        ${folder}\n`);
    out('The API        npm run demo -- --keep leaves both running, and prints how to call it\n');
  }
  return accuracy > minAccuracy && checkpoint !== null ? 0 : 1;
}

/** Returns the checkpoint that the trainer reports, if the file exists. */
function checkpointOf(outputDir: string): string | null {
  const result: unknown = JSON.parse(readFileSync(join(outputDir, 'result.json'), 'utf8'));
  const path =
    typeof result === 'object' && result !== null && 'checkpoint' in result ? result.checkpoint : null;
  return typeof path === 'string' && existsSync(path) ? path : null;
}

function valueOf<T>(
  result: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: CallFailure },
): T {
  if (result.ok) return result.value;
  const { failure } = result;
  if (failure.kind === 'problem') throw new Error(failure.problem.detail);
  throw new Error(failure.kind === 'unexpected' ? failure.detail : String(failure.cause));
}
