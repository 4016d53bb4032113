import type { RunLink, Tracker } from '../../protocol/run-link.ts';
import { addRunLinks, cleanRunUrl, maxRunLinks } from '../../protocol/tracker-urls.ts';
import { stripAnsi } from './progress-line.ts';

/** Only the first characters of a line, and its first addresses, are examined, which bounds the work. */
const searchedChars = 2_048;
const maxAddresses = 4;

/**
 * Whether a URL after this text is a run. The clients of three trackers print `View run at URL` or `View run NAME at:
 * URL`.
 */
const isViewRun = (before: string): boolean =>
  before.includes('View run ') && /\sat:?$/.test(before.slice(-4));

const trackioLines = [
  'View dashboard by going to:',
  'Trackio metrics logged to:',
  'Trackio metrics will be sent to self-hosted server:',
  'Creating new space:',
  'Found existing space:',
  'Synced successfully to space:',
].map(line => `* ${line}`);

/** For each tracker, whether its client prints this text in front of the address of a run. */
const introductions: readonly (readonly [kind: Tracker, isBefore: (text: string) => boolean])[] = [
  ['wandb', before => before.includes('wandb:') && isViewRun(before)],
  ['swanlab', before => before.includes('swanlab:') && isViewRun(before)],
  ['mlflow', isViewRun],
  ['comet', before => /Experiment is live on comet\.(?:com|ml):?$/.test(before.slice(-40))],
  ['trackio', before => trackioLines.some(line => before.endsWith(line))],
];

/** Finds the address that the client of an experiment tracker prints; null when the line has none. @internal */
export function findTrackerLink(line: string): RunLink | null {
  // Almost no line contains an address.
  if (!line.includes('://')) return null;
  const text = stripAnsi(line.slice(0, searchedChars));
  const addresses = text.matchAll(/https?:\/\/\S{1,1000}/g).take(maxAddresses);
  for (const { 0: address, index } of addresses) {
    const before = text.slice(0, index).trimEnd();
    for (const [kind, isBefore] of introductions) {
      const url = isBefore(before) ? cleanRunUrl(kind, address) : null;
      if (url !== null) return { kind, url };
    }
  }
  return null;
}

/** Collects the first few different links of an output. */
export function createTrackerLinks() {
  let links: readonly RunLink[] = [];
  return {
    /** Returns the new link of a line; null when there is none. */
    note(line: string): RunLink | null {
      const link = links.length < maxRunLinks ? findTrackerLink(line) : null;
      if (link === null) return null;
      const all = addRunLinks(links, [link]);
      if (all === links) return null;
      links = all;
      return link;
    },
  };
}
