import { useMemo } from 'react';
import { isFinal, isWaiting } from '../../../protocol/job.ts';
import type { QueueView } from '../../../protocol/queue.ts';
import { useFleet } from '../../app/context.ts';
import { perLanguage } from '../../i18n/formats.ts';
import { useQueueT } from './texts.ts';

const lists = perLanguage(language => new Intl.ListFormat(language, { type: 'unit' }));

/**
 * Shows the number of running jobs of each team with pending jobs, because this number decides which team is next. Renders
 * nothing without fair share or teams.
 */
export function TeamTurns({ queue }: { readonly queue: QueueView }) {
  const t = useQueueT();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const teams = useMemo(() => {
    const running = new Map<string, number>();
    for (const { team, status } of jobs.values())
      if (team !== null && isWaiting(status)) running.set(team, 0);
    for (const { team, status } of jobs.values())
      if (team !== null && !isWaiting(status) && !isFinal(status) && running.has(team))
        running.set(team, (running.get(team) ?? 0) + 1);
    return [...running].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }, [jobs]);
  if (!queue.enable_fair_share || teams.length === 0) return null;
  const texts = teams.map(([team, running]) => {
    const max = Object.hasOwn(queue.team_limits, team) ? queue.team_limits[team] : queue.team_max_concurrent;
    return max === null || max === undefined
      ? t('queue.team', { team, running })
      : t('queue.team.of', { team, running, max });
  });
  return <p className="muted">{t('queue.teams', { list: lists(t.language).format(texts) })}</p>;
}
