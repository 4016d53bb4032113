import { Command } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import { configsApi } from '../../../protocol/configs-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { Invocation } from '../invocation.ts';
import { openRemote } from '../remote.ts';
import { plain } from '../table.ts';
import { workerStatus } from '../workers/text.ts';
import { type Candidate, type Wanted, walk } from './walk.ts';

/** A shell that waits longer than this feels stuck. */
const patienceMs = 500;
const mostJobs = 100;
const mostConfigs = 100;

/**
 * What the scripts of `trainyard completion` ask: prints a line for each word that fits, with a tab and what it means
 * behind it, and a last line that says what the shell is to add by itself: `:file`, `:folder`, or `:`.
 */
export function completeCommand(invocation: Invocation, program: () => Command): Command {
  return new Command('__complete')
    .argument('<shell>')
    .argument('[words...]')
    .helpOption(false)
    .passThroughOptions()
    .action(async (shell: string, words: readonly string[]) => {
      const { before, typed, wanted } = walk(program(), shell === 'bash' ? asTyped(words) : words);
      const found = (await candidatesOf(wanted, typed, invocation)).filter(({ word }) =>
        word.startsWith(typed),
      );
      // Bash completes only what stands behind the `=`.
      const front = shell === 'bash' ? '' : before;
      for (const { word, about } of found) invocation.terminal.out(`${front}${word}\t${plain(about)}\n`);
      invocation.terminal.out(`:${ownOf(wanted)}\n`);
    });
}

/** Bash takes lines apart at `=`, too, and leaves backslashes where they are. */
function asTyped(words: readonly string[]): readonly string[] {
  const whole: string[] = [];
  let isOpen = false;
  for (const word of words.map(text => text.replaceAll(/\\(.)/g, '$1'))) {
    if (whole.length > 0 && (isOpen || word === '=')) whole.push((whole.pop() ?? '') + word);
    else whole.push(word);
    isOpen = word === '=';
  }
  return whole;
}

/** What the shell adds by itself. */
function ownOf(wanted: Wanted): string {
  if (wanted.kind === 'config') return wanted.orFile ? 'file' : '';
  return wanted.kind === 'file' || wanted.kind === 'folder' ? wanted.kind : '';
}

async function candidatesOf(
  wanted: Wanted,
  typed: string,
  invocation: Invocation,
): Promise<readonly Candidate[]> {
  switch (wanted.kind) {
    case 'words':
      return wanted.candidates;
    case 'worker':
    case 'job':
    case 'config':
      try {
        return await thingsOf(wanted, typed, invocation);
      } catch {
        // Nobody asked for an orchestrator here: one that can't be had is no failure.
        return [];
      }
    case 'file':
    case 'folder':
    case 'nothing':
      return [];
  }
}

async function thingsOf(
  wanted: Extract<Wanted, { readonly kind: 'worker' | 'job' | 'config' }>,
  typed: string,
  invocation: Invocation,
): Promise<readonly Candidate[]> {
  const { ask } = openRemote(wanted.flags, invocation, patienceMs);
  if (wanted.kind === 'worker') {
    const { workers } = await ask(workersApi.list);
    return workers.map(worker => ({ word: worker.name, about: `${worker.id}  ${workerStatus(worker)}` }));
  }
  if (wanted.kind === 'config') {
    const { entries } = await ask(configsApi.list, { query: { q: typed, limit: mostConfigs } });
    return entries.map(({ name, model_family: family, problem }) => ({
      word: name,
      about: problem ?? family ?? '',
    }));
  }
  const { entries } = await ask(queueApi.list, { query: { ...wanted.which, limit: mostJobs } });
  return entries.map(job => ({ word: job.id, about: `${job.config_name}  ${job.status}` }));
}
