/** Links to the run of a training at an experiment tracker, such as Weights & Biases or MLflow. */
import { z } from 'zod';

const trackers = ['wandb', 'mlflow', 'trackio', 'comet', 'swanlab'] as const;
export type Tracker = (typeof trackers)[number];
export const isTracker = (word: string): word is Tracker => trackers.some(tracker => tracker === word);

export const RunLink = z
  .object({
    kind: z
      .string()
      .describe(
        'The tracker: `wandb`, `mlflow`, `trackio`, `comet` or `swanlab`. Newer servers may send others.',
      ),
    url: z
      .string()
      .describe(
        'Address of the run: `http` or `https`, without user, password and secrets. A program in the training has printed it, so nobody has checked where it leads.',
      ),
  })
  .meta({
    id: 'RunLink',
    description: "Link to the run at an experiment tracker, found in the trainer's log.",
  });
export type RunLink = Readonly<z.output<typeof RunLink>>;

/** Returns a job's links, or else those of its newest attempt with links. A new attempt has no links before it prints them. */
export const linksOfJob = ({
  links,
  attempts,
}: {
  readonly links: readonly RunLink[];
  readonly attempts: readonly { readonly links: readonly RunLink[] }[];
}): readonly RunLink[] =>
  links.length > 0 ? links : (attempts.findLast(attempt => attempt.links.length > 0)?.links ?? []);

/** Addresses that only the machine itself can open. */
const loopback = /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])$/;

/**
 * Returns the host of a link for display, with its port; null for a link that must not be opened. Names in other alphabets
 * stay encoded (`xn--`), so that they cannot imitate a known name.
 */
export const hostOfLink = ({ url }: RunLink): string | null =>
  URL.canParse(url) && /^https?:/.test(new URL(url).protocol) ? new URL(url).host : null;

/** Whether a link works only on the machine whose program has printed it. */
export const isLoopbackLink = ({ url }: RunLink): boolean =>
  URL.canParse(url) && loopback.test(new URL(url).hostname);

const names: Readonly<Record<Tracker, string>> = {
  wandb: 'Weights & Biases',
  mlflow: 'MLflow',
  trackio: 'Trackio',
  comet: 'Comet',
  swanlab: 'SwanLab',
};
/** Returns the display name of the tracker; for an unknown tracker, its kind. */
export const trackerName = ({ kind }: RunLink): string => (isTracker(kind) ? names[kind] : kind);
