/** Validates URLs that clients of experiment trackers print, and the links in workers' reports. */
import { z } from 'zod';
import { isTracker, RunLink, type Tracker } from './run-link.ts';

/** Maximum number of links of an attempt. Later ones are dropped. */
export const maxRunLinks = 4;
/** Maximum length of a URL to keep, in characters. */
const maxUrl = 500;

/** The form of a tracker's URLs. Only the listed parts of a URL are kept. */
interface UrlForm {
  readonly path: RegExp;
  /** Query parameters to keep, if present. Other parameters may be secrets, such as `apiKey` or `write_token`. */
  readonly query?: readonly string[];
  /** The required fragment. If undefined, any fragment is dropped. */
  readonly hash?: RegExp;
}

const name = '[^/]{1,200}';
const forms: Readonly<Record<Tracker, readonly UrlForm[]>> = {
  wandb: [{ path: new RegExp(`^(?:/${name}){2,4}/runs/${name}$`) }],
  swanlab: [{ path: new RegExp(`^(?:/${name}){0,2}/@${name}/${name}/runs/${name}(?:/chart)?$`) }],
  mlflow: [
    // The first form is for the open-source server, possibly below a path. The second form is for Databricks.
    {
      path: new RegExp(`^(?:/${name}){0,4}/?$`),
      hash: /^#\/experiments\/[\w-]{1,64}\/runs\/[\w-]{1,256}$/,
    },
    { path: /^\/ml\/experiments\/[\w-]{1,64}\/runs\/[\w-]{1,256}$/, query: ['o'] },
  ],
  // A Space of Hugging Face, or a self-hosted server.
  trackio: [{ path: new RegExp(`^(?:/spaces/${name}/${name}|/?)$`), query: ['project'] }],
  comet: [{ path: new RegExp(`^/${name}/${name}/[0-9a-zA-Z]{8,64}$`) }],
};

/** Returns the URL of a run, without parts that may be secret; null if the text is not a URL of this tracker. */
export function cleanRunUrl(kind: Tracker, text: string): string | null {
  if (text.length > 2 * maxUrl || !URL.canParse(text)) return null;
  const { protocol, host, pathname, searchParams, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  const form = forms[kind].find(
    ({ path, hash: hashForm }) => path.test(pathname) && (hashForm === undefined || hashForm.test(hash)),
  );
  if (form === undefined) return null;
  const keptParams = new URLSearchParams();
  for (const key of form.query ?? []) {
    const value = searchParams.get(key);
    if (value !== null) keptParams.set(key, value);
  }
  const query = keptParams.size === 0 ? '' : `?${keptParams.toString()}`;
  const url = `${protocol}//${host}${pathname}${query}${form.hash === undefined ? '' : hash}`;
  return url.length > maxUrl ? null : url;
}

/** Adds new links to those of an attempt, up to `maxRunLinks`. Returns the same list when no link is new. */
export function addRunLinks(links: readonly RunLink[], added: readonly RunLink[]): readonly RunLink[] {
  const isNew = ({ url }: RunLink, at: number): boolean =>
    !links.some(link => link.url === url) && added.findIndex(link => link.url === url) === at;
  const fresh = added.filter(isNew).slice(0, Math.max(0, maxRunLinks - links.length));
  return fresh.length === 0 ? links : [...links, ...fresh];
}

/** Links in a report. Invalid links are dropped, so that they do not make the report fail. */
export const ReportedLinks = z
  .unknown()
  .transform((value): readonly RunLink[] | undefined =>
    Array.isArray(value) ? value.slice(0, maxRunLinks).flatMap(cleanLink) : undefined,
  )
  .optional()
  .describe(
    "Addresses of the run at experiment trackers, found in the trainer's log: at most 4 objects with `kind` and `url`. Invalid ones are dropped.",
  );

function cleanLink(value: unknown): readonly RunLink[] {
  const parsed = RunLink.safeParse(value);
  if (!parsed.success || !isTracker(parsed.data.kind)) return [];
  const { kind } = parsed.data;
  const url = cleanRunUrl(kind, parsed.data.url);
  return url === null ? [] : [{ kind, url }];
}
