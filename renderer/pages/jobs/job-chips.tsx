import { Link } from 'wouter';
import type { JobView } from '../../../protocol/job.ts';
import { useT } from '../../i18n/index.ts';

/** Shows the group and tags of a job as links to the jobs that share them. Renders nothing if the job has none. */
export function JobChips({ job: { group, tags } }: { readonly job: Pick<JobView, 'group' | 'tags'> }) {
  const t = useT();
  if (group === null && tags.length === 0) return null;
  return (
    <span className="chips job-chips" translate="no">
      {group !== null && (
        <Link className="chip" href={listOf(`group:${group}`)} aria-label={t('jobs.group.filter', { group })}>
          {group}
        </Link>
      )}
      {tags.map(tag => (
        <Link
          key={tag}
          className="chip"
          href={listOf(`tag:${tag}`)}
          aria-label={t('jobs.tag.filter', { tag })}
        >
          #{tag}
        </Link>
      ))}
    </span>
  );
}

/** Returns the path of the job list with this filter. */
export const listOf = (search: string): string => `/jobs?q=${encodeURIComponent(search)}`;
