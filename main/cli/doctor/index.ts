import { Command } from 'commander';
import { systemApi, workersApi } from '../../../protocol/admin-api.ts';
import { agentApi } from '../../../protocol/agent-api.ts';
import { createClient } from '../../../protocol/client.ts';
import { version } from '../../../protocol/version.ts';
import type { Env, Flags } from '../../config.ts';
import { findConnection, findLocalFolder, findNetwork, findUrl, tokenFetch } from '../connection.ts';
import { exitCodes, failureOf } from '../failure.ts';
import { flagsOf, textOf } from '../flags.ts';
import type { Invocation } from '../invocation.ts';
import { printRows } from '../output.ts';
import { warnOfToken, withConnection, withOutput } from '../remote-command.ts';
import type { Column } from '../table.ts';
import { writeBundle } from './bundle.ts';
import { type Check, checkFolder, failed, passed, skipped } from './folder.ts';

const timeoutMs = 5_000;

/** Checks everything that other commands depend on, and prints how to solve each problem. */
export function doctorCommand({ env, terminal, exit }: Invocation): Command {
  const command = new Command('doctor')
    .description('Check the data folder, the connection to the orchestrator, and the token')
    .option('--bundle <file>', 'also write a report for a bug report to this new file; it has no secrets');
  return withConnection(withOutput(command)).action(async () => {
    const flags = flagsOf(command);
    warnOfToken(terminal, flags);
    const checks = await runChecks(flags, env);
    // Lines are not truncated here, because each remedy is at the end of a line.
    printRows(
      { terminal: { ...terminal, outScreen: () => null }, flags },
      { answer: checks, rows: checks, columns, none: '' },
    );
    const file = textOf(flags, 'bundle');
    if (file !== null) {
      const failure = await writeBundle(file, { flags, env, checks, timeoutMs });
      terminal.err(
        failure === null
          ? `Wrote ${file}. It names folders, workers and jobs: read it before you share it\n`
          : `Cannot write the report: ${failure}\n`,
      );
      if (failure !== null) return exit(exitCodes.failed);
    }
    exit(checks.some(({ result }) => result === 'failed') ? exitCodes.failed : exitCodes.done);
  });
}

const marks = { ok: 'ok', failed: 'FAILED', skipped: '-' } as const;
const columns: readonly Column<Check>[] = [
  { title: 'CHECK', text: ({ what }) => what },
  { title: '', text: ({ result }) => marks[result] },
  { title: '', text: ({ detail }) => detail },
];

async function runChecks(flags: Flags, env: Env): Promise<readonly Check[]> {
  const orchestrator = await checkOrchestrator(flags, env);
  const token =
    orchestrator.result === 'ok'
      ? await checkToken(flags, env)
      : skipped('Token', 'The orchestrator is unreachable');
  const folder = findLocalFolder(flags, env);
  if (!folder.ok) return [failed('Config', folder.failure.message)];
  const { dataDir, isTarget } = folder.value;
  const programs =
    orchestrator.result === 'ok'
      ? await checkPrograms(flags, env)
      : skipped('Worker program', 'The orchestrator is unreachable');
  return [
    ...(await checkFolder(dataDir, isTarget && orchestrator.result === 'ok')),
    orchestrator,
    token,
    programs,
  ];
}

async function checkOrchestrator(flags: Flags, env: Env): Promise<Check> {
  const what = 'Orchestrator';
  const url = findUrl(flags, env);
  if (!url.ok) return failed(what, url.failure.message);
  const network = findNetwork(flags, env);
  if (!network.ok) return failed(what, network.failure.message);
  const client = createClient({ baseUrl: url.value, headers: () => ({}), timeoutMs, fetch: network.value });
  const result = await client.call(systemApi.version);
  if (!result.ok) return failed(what, failureOf(result.failure, url.value).message);
  const difference = result.value.version === version ? '' : `. This program has version ${version}`;
  return passed(what, `${url.value} runs version ${result.value.version}${difference}`);
}

/** Checks the worker program that the orchestrator serves to new rigs. */
async function checkPrograms(flags: Flags, env: Env): Promise<Check> {
  const what = 'Worker program';
  const url = findUrl(flags, env);
  const network = findNetwork(flags, env);
  if (!url.ok || !network.ok) return skipped(what, 'The orchestrator is unreachable');
  const client = createClient({ baseUrl: url.value, headers: () => ({}), timeoutMs, fetch: network.value });
  const result = await client.call(agentApi.manifest);
  if (!result.ok) return skipped(what, 'Not built. Run "npm run build" on the machine of the orchestrator');
  const names = result.value.programs.map(({ name }) => name);
  return passed(what, `Rigs can download ${names.join(' and ')}`);
}

async function checkToken(flags: Flags, env: Env): Promise<Check> {
  const what = 'Token';
  const connection = findConnection(flags, env);
  if (!connection.ok) return failed(what, connection.failure.message);
  const network = findNetwork(flags, env);
  if (!network.ok) return failed(what, network.failure.message);
  const { url, token } = connection.value;
  const headers = { authorization: `Bearer ${token}` };
  const fetch = tokenFetch(connection.value, network.value);
  const client = createClient({ baseUrl: url, headers: () => headers, timeoutMs, fetch });
  const result = await client.call(workersApi.list);
  if (!result.ok) {
    const { failure } = result;
    if (failure.kind === 'problem' && failure.problem.code === 'permission_missing')
      return passed(
        what,
        `Valid. It lacks the permission ${workersApi.list.authority}, which commands for workers need`,
      );
    return failed(what, failureOf(failure, url).message);
  }
  const { total } = result.value;
  return passed(what, `Valid. The orchestrator has ${total} ${total === 1 ? 'worker' : 'workers'}`);
}
