import type { CallInput, ValueOf } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { Remote } from '../remote.ts';

export type JobQuery = NonNullable<CallInput<typeof queueApi.list>['query']>;
type JobPage = ValueOf<typeof queueApi.list>;

/** Maximum page size of the orchestrator. */
const maxPage = 500;

/** Fetches all matching jobs as one page. It leaves out jobs submitted in the meantime. */
export async function everyPage(
  { ask }: Pick<Remote, 'ask'>,
  query: JobQuery,
  limit = maxPage,
): Promise<JobPage> {
  const first = await ask(queueApi.list, { query: { ...query, limit } });
  const entries = [...first.entries];
  for (let cursor = first.next_cursor; cursor !== null; ) {
    const page = await ask(queueApi.list, { query: { ...query, limit, cursor } });
    entries.push(...page.entries);
    cursor = page.next_cursor;
  }
  return { ...first, entries, next_cursor: null };
}
