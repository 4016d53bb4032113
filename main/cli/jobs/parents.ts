import type { Command } from 'commander';
import type { JobId } from '../../../protocol/ids.ts';
import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { collect } from '../flags.ts';
import type { Remote } from '../remote.ts';
import { findNewestJob } from './find.ts';

/** Adds the options that name the parents of a job. */
export const withParentOptions = (command: Command): Command =>
  command
    .option(
      '--after <job>',
      'start only after this job: an id, the start of an id, or a name; repeatable',
      collect,
    )
    .option(
      '--input <name=job:file>',
      'file of another job that the config names as {{inputs.NAME}}: result, "checkpoint best", "checkpoint newest", "checkpoint 500", "state newest" (to continue the training), or a path; repeatable',
      collect,
    );

export type Parents = Pick<SubmitRequest, 'after' | 'inputs'>;

/** Converts `--after` and `--input` to fields of the request. A name means the newest job with this name. */
export async function parentsOf(remote: Remote): Promise<Parents> {
  const { flags } = remote;
  const [words, inputs] = [wordsIn(flags['after']), wordsIn(flags['input']).map(parseInput)];
  if (words.length + inputs.length === 0 && flags['after-on'] !== undefined)
    return fail(exitCodes.usage, '--after-on needs --after or --input');
  const idOfWord = new Map<string, JobId>();
  for (const word of [...words, ...inputs.map(({ job }) => job)])
    idOfWord.set(word, idOfWord.get(word) ?? (await findNewestJob(remote, word)).id);
  const after = [...new Set(words.flatMap(word => idOfWord.get(word) ?? []))];
  const inputsWithIds = inputs.flatMap(({ name, job, file }) => {
    const from = idOfWord.get(job);
    return from === undefined ? [] : [{ name, from, file }];
  });
  return { ...(after.length > 0 && { after }), ...(inputsWithIds.length > 0 && { inputs: inputsWithIds }) };
}

const wordsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

/** Parses `NAME=JOB:FILE`. Job names may contain colons, but file names cannot. */
function parseInput(text: string): { readonly name: string; readonly job: string; readonly file: string } {
  const [, name = '', job = '', file = 'result'] = /^([^=]+)=(.+?)(?::([^:]+))?$/.exec(text) ?? [];
  if (job === '')
    return fail(exitCodes.usage, `--input ${text}: expected NAME=JOB:FILE, such as lora=flux-base:result`);
  return { name, job, file };
}
