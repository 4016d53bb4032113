/** Which texts of a page are the panel's own, and which are what the server says. */
import type { Orchestrator } from './panel.ts';

/** Every text and every name of a field in what the server answers, and what the panel makes of two of them. */
export async function wordsOfServer({ call }: Orchestrator): Promise<ReadonlySet<string>> {
  const words = new Set<string>();
  const take = (value: unknown): void => {
    if (typeof value === 'string') words.add(value.trim());
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      words.add(key);
      if (typeof part === 'string') words.add(`${key}=${part}`);
      take(part);
    }
  };
  const queue = (await call('GET', '/api/queue?limit=500')) as {
    readonly entries: readonly { readonly id: string; readonly config_name: string }[];
  };
  const audit = (await call('GET', '/api/audit?limit=500')) as { readonly entries: readonly AuditRow[] };
  const workers = (await call('GET', '/api/admin/workers')) as {
    readonly workers: readonly { readonly labels: Readonly<Record<string, string>> }[];
  };
  take([queue, audit, workers, await call('GET', '/api/queue/status')]);
  for (const { labels } of workers.workers)
    words.add(
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join('\n'),
    );
  for (const { id, config_name: config } of queue.entries) {
    words.add(`${config} (${id})`);
    take(await call('GET', `/api/queue/${id}`));
    take(await call('GET', `/api/queue/${id}/explain`));
  }
  for (const {
    event_type: type,
    target_id: target,
    actor_id: actor,
    actor_type: kind,
    address,
  } of audit.entries) {
    words.add(`${type} ${target}`);
    words.add(`${actor ?? kind}${address === null ? '' : ` (${address})`}`);
  }
  return words;
}

interface AuditRow {
  readonly event_type: string;
  readonly target_id: string;
  readonly actor_id: string | null;
  readonly actor_type: string;
  readonly address: string | null;
}

/** Numbers with their units, as `Intl` writes them: "2h 29m", "1.09", "97.2%", "1.2E-5". */
const isFigure = (text: string): boolean => /^(?:[\d.,:/×%+–-]+\s?[a-z]{0,3}\s?)+$/i.test(text);
const hasLetters = (text: string): boolean => /\p{L}/u.test(text);
/** As the pseudo-locale marks what comes out of the catalogue. */
const isMarked = (text: string): boolean => /^\[[\s\S]*\]$/.test(text);

/** What stands in empty fields, and what the tests themselves write. */
const examples: ReadonlySet<string> = new Set([
  'rig-3',
  'team=nlp',
  'job.failed',
  'j_...',
  'rig-9',
  'inline',
]);

/** Those that neither the catalogue nor the server has. */
export const untranslated = (texts: readonly string[], server: ReadonlySet<string>): readonly string[] =>
  texts.filter(
    text =>
      hasLetters(text) &&
      !isMarked(text) &&
      !isFigure(text) &&
      !examples.has(text) &&
      !server.has(text.replace(/^"|"$/g, '')),
  );
