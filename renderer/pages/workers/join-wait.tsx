import { useState } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useFleet } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Icon } from '../../ui/icon.tsx';
import { useNow } from '../../ui/time.tsx';
import { type Joining, reachCommand } from './join-commands.ts';
import { joinPhase } from './join-phase.ts';
import { TestJob } from './test-job.tsx';
import { gpusText } from './texts.ts';

interface JoinWaitProps {
  readonly id: WorkerId;
  readonly joining: Joining;
}

const patienceMs = 60_000;

/** Shows the progress of the join, as the server reports it. */
export function JoinWait({ id, joining }: JoinWaitProps) {
  const t = useT();
  const worker = useFleet(state => state.fleet.workers.get(id));
  const [since] = useState(Date.now);
  const now = useNow(1_000);
  const phase = joinPhase(worker);
  const icon = {
    listening: 'connecting',
    greeted: 'connecting',
    connected: 'completed',
    gone: 'offline',
  } as const;
  return (
    <section className="worker-join-wait" data-phase={phase}>
      <p role="status" className="worker-join-phase">
        <Icon name={icon[phase]} />
        {phaseText(t, joining.name, worker)}
      </p>
      {phase === 'listening' && now - since >= patienceMs && <Checklist joining={joining} />}
      {phase === 'connected' && worker !== undefined && <TestJob worker={worker} />}
    </section>
  );
}

function phaseText(t: Translator, name: string, worker: WorkerView | undefined): string {
  const phase = joinPhase(worker);
  if (phase === 'listening' || worker === undefined) return t('workers.wait.listening', { name });
  if (phase === 'greeted') return t('workers.wait.greeted', { name, host: worker.host ?? name });
  if (phase === 'gone') return t('workers.wait.gone', { name });
  const gpus = gpusText(t, worker);
  return worker.host === null || worker.host === name
    ? t('workers.wait.connected', { gpus })
    : t('workers.wait.connectedFrom', { host: worker.host, gpus });
}

function Checklist({ joining }: { readonly joining: Joining }) {
  const t = useT();
  const { port, protocol } = new URL(joining.url);
  return (
    <div>
      <p>{t('workers.wait.try')}</p>
      <ol className="worker-checklist">
        {typeof joining.script !== 'string' && (
          <li>
            {t('workers.wait.try.agent')} <code className="mono">trainyard --version</code>
          </li>
        )}
        <li>
          {t('workers.wait.try.reach')} <code className="mono">{reachCommand(joining)}</code>
        </li>
        <li>{t('workers.wait.try.firewall', { port: port || (protocol === 'https:' ? '443' : '80') })}</li>
        <li>{t('workers.wait.try.token')}</li>
      </ol>
    </div>
  );
}
