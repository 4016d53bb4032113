import ExternalLink from 'lucide-react/icons/external-link';
import type { JobDetail } from '../../../../protocol/job.ts';
import {
  hostOfLink,
  isLoopbackLink,
  linksOfJob,
  type RunLink,
  trackerName,
} from '../../../../protocol/run-link.ts';
import { useRunT } from '../../compare/texts.tsx';

/**
 * Links to the job's run at experiment trackers. Renders nothing if there are none. Any program in the training can
 * print such a URL, so each link shows its host, and the page never loads the URL.
 */
export function RunLinks({ job }: { readonly job: JobDetail }) {
  const t = useRunT();
  const shown = linksOfJob(job).filter(link => hostOfLink(link) !== null);
  if (shown.length === 0) return null;
  return (
    <ul className="chips run-links" aria-label={t('runs.links')}>
      {shown.map(link => (
        <li key={link.url}>
          {isLoopbackLink(link) ? (
            <span className="chip" title={link.url}>
              <Target link={link} />
              <span>{t('runs.links.onlyThere', { worker: job.worker_name ?? '' })}</span>
            </span>
          ) : (
            <a className="chip" href={link.url} title={link.url} target="_blank" rel="noopener noreferrer">
              <ExternalLink aria-hidden size={12} />
              <Target link={link} />
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}

const Target = ({ link }: { readonly link: RunLink }) => (
  <>
    <span translate="no">{trackerName(link)}</span>
    <span className="muted run-link-host" translate="no">
      {hostOfLink(link)}
    </span>
  </>
);
