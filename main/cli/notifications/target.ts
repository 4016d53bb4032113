import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Option } from 'commander';
import { ChannelTarget } from '../../../protocol/notification.ts';
import { exitCodes, fail, reasonOf } from '../failure.ts';
import { readInput, textOf } from '../flags.ts';
import { readConfig } from '../jobs/config-source.ts';
import type { Remote } from '../remote.ts';

const noun = { noun: 'target', remedy: 'Give a local file, or - for standard input' } as const;

/** Adds the options for a target. Secrets come from files or standard input, because every user can see arguments. */
export const withTarget = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--kind <kind>',
        'service behind the URL of --url-file; for ntfy and email, use --file',
      ).choices(['discord', 'slack', 'webhook']),
    )
    .option('--url-file <file>', 'file with the URL of the receiver; - for standard input')
    .option(
      '--secret-file <file>',
      'file with the signing secret of a webhook (default: a new one, shown once)',
    )
    .option('--file <file>', 'JSON, YAML or TOML file with the whole target; - for standard input');

/** A target, and its signing secret if the command generated one. */
interface GivenTarget {
  readonly target: ChannelTarget;
  readonly newSecret: string | null;
}

/** Returns null when the flags name no target. */
export async function readTarget({ flags, terminal }: Remote): Promise<GivenTarget | null> {
  const file = textOf(flags, 'file');
  const kind = textOf(flags, 'kind');
  const urlFile = textOf(flags, 'url-file');
  if (file !== null) {
    const { config } = await readConfig(file, terminal, noun);
    return { target: readInput(ChannelTarget, config, {}), newSecret: null };
  }
  if (kind === null && urlFile === null) return null;
  if (kind === null || urlFile === null)
    return fail(exitCodes.usage, 'Give both --kind and --url-file, or --file');
  const url = await readSecret(urlFile, terminal);
  if (kind !== 'webhook') return { target: readInput(ChannelTarget, { kind, url }, names), newSecret: null };
  const secretFile = textOf(flags, 'secret-file');
  const newSecret = secretFile === null ? randomBytes(32).toString('base64url') : null;
  const secret = secretFile === null ? newSecret : await readSecret(secretFile, terminal);
  return { target: readInput(ChannelTarget, { kind, url, signing_secret: secret }, names), newSecret };
}

const names = { url: '--url-file', signing_secret: '--secret-file' };

async function readSecret(path: string, { stdin }: Remote['terminal']): Promise<string> {
  if (path === '-') {
    if (stdin === null)
      return fail(exitCodes.usage, '"-" reads standard input, but that is the terminal. Use a pipe');
    return (await stdin()).trim();
  }
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    return fail(exitCodes.usage, `The file cannot be read: ${reasonOf(cause)}`);
  }
}
