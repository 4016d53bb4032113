import { JobId, WorkerId } from '../../protocol/ids.ts';

export const scheme = 'trainyard';

const things = { job: { id: JobId, page: '/jobs' }, worker: { id: WorkerId, page: '/workers' } } as const;

/**
 * The page of the panel that a link such as `trainyard://job/j_abc` is to; null for anything else. Every page of the web can
 * make the system open one: it shows a thing, and never does anything.
 */
export function pageOfLink(link: string): string | null {
  const [, thing, id] = /^trainyard:\/\/(job|worker)\/([^/?#]+)\/?$/i.exec(link) ?? [];
  const kind = thing?.toLowerCase();
  if (id === undefined || (kind !== 'job' && kind !== 'worker')) return null;
  const { id: schema, page } = things[kind];
  const parsed = schema.safeParse(id);
  return parsed.success ? `${page}/${parsed.data}` : null;
}

/**
 * In the arguments of a program that was started to open one. It stands behind `--`; a registration by an earlier version puts it
 * anywhere.
 */
export const linkAmong = (args: readonly string[]): string | null =>
  args.slice(args.indexOf('--') + 1).find(arg => arg.toLowerCase().startsWith(`${scheme}://`)) ?? null;
