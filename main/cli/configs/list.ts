import { type ConfigView, configsApi } from '../../../protocol/configs-api.ts';
import { isOn, textOf } from '../flags.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';

const columns: readonly Column<ConfigView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  {
    title: 'MODEL',
    text: config => [config.model_family, config.model_type].filter(Boolean).join(' ') || '-',
  },
  { title: 'GPUS', text: ({ gpu_count: count, devices }) => devices?.join(',') ?? String(count ?? '-') },
  { title: 'CHANGED', text: ({ changed_at: at }) => `${at.slice(0, 16)}Z` },
  { title: 'FILE', text: ({ file }) => file },
  { title: 'PROBLEM', text: ({ problem }) => problem ?? '' },
];

export const list: RemoteSpec = {
  name: 'list',
  description: 'List configs',
  shape: command =>
    command
      .option('--search <text>', 'only configs with this text in their name')
      .option('--all', 'list all results'),
  async act(remote) {
    const { flags, terminal } = remote;
    const q = textOf(flags, 'search') ?? undefined;
    const answer = await pages(remote, q, isOn(flags, 'all'));
    const none =
      q === undefined
        ? `No configs. To add one, run "trainyard configs put NAME FILE", or save NAME.json in ${answer.folder}`
        : 'No matching configs';
    printRows(remote, { answer, rows: answer.entries, columns, none });
    if (answer.next_cursor !== null) terminal.err('Not all results are shown. To list all, use --all\n');
  },
};

async function pages(remote: Remote, q: string | undefined, isAll: boolean) {
  const limit = isAll ? 500 : undefined;
  const first = await remote.ask(configsApi.list, { query: { q, limit } });
  const entries = [...first.entries];
  let cursor = first.next_cursor;
  while (isAll && cursor !== null) {
    const page = await remote.ask(configsApi.list, { query: { q, limit, cursor } });
    entries.push(...page.entries);
    cursor = page.next_cursor;
  }
  return { ...first, entries, next_cursor: cursor };
}
