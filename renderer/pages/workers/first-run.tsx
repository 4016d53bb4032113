import { ActDialogs } from './act-dialogs.tsx';
import { EmptyFleet } from './empty-list.tsx';
import './workers.css';

/** For a fleet without workers. Its dialogs stay open when the first worker joins, because they show its token. */
export function FirstRun({ isEmpty }: { readonly isEmpty: boolean }) {
  return (
    <ActDialogs>
      {isEmpty && (
        <section className="card">
          <EmptyFleet />
        </section>
      )}
    </ActDialogs>
  );
}
