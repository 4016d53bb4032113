import { JobId, WorkerId } from '../../protocol/ids.ts';

export const scheme = 'trainyard';

const things = { job: { id: JobId, page: '/jobs' }, worker: { id: WorkerId, page: '/workers' } } as const;

/**
 * Returns the panel page for a link such as `trainyard://job/j_abc`; null for anything else. Any web page can open such a link,
 * so it only shows an object and never changes one.
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
 * Finds a link in the arguments of a program that the system started to open it. It follows `--`; registrations by earlier
 * versions may put it anywhere.
 */
export const linkAmong = (args: readonly string[]): string | null =>
  args.slice(args.indexOf('--') + 1).find(arg => arg.toLowerCase().startsWith(`${scheme}://`)) ?? null;
