import { shownName } from '../../../protocol/job-about.ts';
import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { useFleet } from '../../app/context.ts';
import { JobLink, WorkerLink } from '../../app/links.tsx';

interface TargetProps {
  /** Kind of the object, such as `job`. */
  readonly type: string;
  readonly id: string;
}

/** The object of an audit entry: the name of a job or a worker that still exists, otherwise its id. */
export function Target({ type, id }: TargetProps) {
  const name = useFleet(({ fleet: { jobs, workers } }) => {
    const worker = type === 'worker' ? WorkerId.safeParse(id).data : undefined;
    if (worker !== undefined) return workers.get(worker)?.name;
    const jobId = type === 'job' ? JobId.safeParse(id).data : undefined;
    const job = jobId === undefined ? undefined : jobs.get(jobId);
    return job && shownName(job);
  });
  if (name === undefined) return <code title={id}>{id}</code>;
  const AnyLink = type === 'job' ? JobLink : WorkerLink;
  return (
    <AnyLink id={id} title={`${name} (${id})`} label={name}>
      {name}
    </AnyLink>
  );
}
