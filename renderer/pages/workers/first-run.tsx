import { ActDialogs } from './act-dialogs.tsx';
import { EmptyFleet } from './empty-list.tsx';
import './workers.css';

/** For a page that shows no workers. Its dialogs stay open when the first worker is there: they have its token. */
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
