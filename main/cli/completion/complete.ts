import { Command } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import { configsApi } from '../../../protocol/configs-api.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { templatesApi } from '../../../protocol/templates-api.ts';
import type { Invocation } from '../invocation.ts';
import { launchStatus, poolStatus, recentLaunches } from '../pools/pool.ts';
import { openRemote } from '../remote.ts';
import { plain } from '../table.ts';
import { workerStatus } from '../workers/worker.ts';
import { type Candidate, walk, type Expected } from './walk.ts';

/** Timeout of each request for candidates. A completion that takes longer feels stuck. */
const timeoutMs = 500;
/** Maximum numbers of candidates. */
const maxJobs = 100;
const maxConfigs = 100;

/**
 * Creates the command that the scripts of `trainyard completion` call. The command prints one candidate per line, followed by a
 * tab and a description. The last line tells the shell whether to add names of files or folders: `:file`, `:folder`, or `:`.
 */
export function completeCommand(invocation: Invocation, program: () => Command): Command {
  return new Command('__complete')
    .argument('<shell>')
    .argument('[words...]')
    .helpOption(false)
    .passThroughOptions()
    .action(async (shell: string, words: readonly string[]) => {
      const { before, typed, expected } = walk(program(), shell === 'bash' ? joinBashWords(words) : words);
      const candidates = (await findCandidates(expected, typed, invocation)).filter(({ word }) =>
        word.startsWith(typed),
      );
      // For `--option=value`, bash replaces only the part after the `=`.
      const prefix = shell === 'bash' ? '' : before;
      for (const { word, about } of candidates)
        invocation.terminal.out(`${prefix}${word}\t${plain(about)}\n`);
      invocation.terminal.out(`:${shellCompletion(expected)}\n`);
    });
}

/** Joins words that bash has split at `=`, and removes the backslashes that bash leaves in words. */
function joinBashWords(words: readonly string[]): readonly string[] {
  const joined: string[] = [];
  let isOpen = false;
  for (const word of words.map(text => text.replaceAll(/\\(.)/g, '$1'))) {
    if (joined.length > 0 && (isOpen || word === '=')) joined.push((joined.pop() ?? '') + word);
    else joined.push(word);
    isOpen = word === '=';
  }
  return joined;
}

/** Returns the kind of names that the shell should complete itself; empty for none. */
function shellCompletion(expected: Expected): string {
  if (expected.kind === 'config') return expected.orFile ? 'file' : '';
  return expected.kind === 'file' || expected.kind === 'folder' ? expected.kind : '';
}

async function findCandidates(
  expected: Expected,
  typed: string,
  invocation: Invocation,
): Promise<readonly Candidate[]> {
  switch (expected.kind) {
    case 'words':
      return expected.candidates;
    case 'worker':
    case 'pool':
    case 'launch':
    case 'template':
    case 'job':
    case 'config':
      try {
        return await fetchCandidates(expected, typed, invocation);
      } catch {
        // Completion is optional, so an unreachable orchestrator is not an error.
        return [];
      }
    case 'file':
    case 'folder':
    case 'nothing':
      return [];
  }
}

async function fetchCandidates(
  expected: Extract<
    Expected,
    { readonly kind: 'worker' | 'pool' | 'launch' | 'template' | 'job' | 'config' }
  >,
  typed: string,
  invocation: Invocation,
): Promise<readonly Candidate[]> {
  const remote = openRemote(expected.flags, invocation, timeoutMs);
  const { request } = remote;
  switch (expected.kind) {
    case 'worker': {
      const { workers } = await request(workersApi.list);
      return workers.map(worker => ({ word: worker.name, about: `${worker.id}  ${workerStatus(worker)}` }));
    }
    case 'pool': {
      const { pools } = await request(poolsApi.list);
      return pools.map(pool => ({ word: pool.name, about: `${pool.engine.kind}  ${poolStatus(pool)}` }));
    }
    case 'launch': {
      const open = (await recentLaunches(remote)).filter(({ state }) => state !== 'ended');
      return open.map(launch => ({
        word: launch.launch_id,
        about: `${launch.worker_name}  ${launchStatus(launch)}`,
      }));
    }
    case 'template': {
      const { templates } = await request(templatesApi.list);
      return templates.map(({ name, description }) => ({ word: name, about: description ?? '' }));
    }
    case 'config': {
      const { entries } = await request(configsApi.list, { query: { q: typed, limit: maxConfigs } });
      return entries.map(({ name, model_family: family, problem }) => ({
        word: name,
        about: problem ?? family ?? '',
      }));
    }
    case 'job': {
      const { entries } = await request(queueApi.list, { query: { ...expected.which, limit: maxJobs } });
      return entries.map(job => ({ word: job.id, about: `${job.config_name}  ${job.status}` }));
    }
  }
}
