import { describe } from 'vitest';
import { describeAbout } from './about.suite.ts';
import { describeArtifacts } from './artifacts.suite.ts';
import { describeAudit } from './audit.suite.ts';

import type { OpenStore } from './builders.ts';
import { describeDependencies } from './dependencies.suite.ts';
import { describeEvents } from './events.suite.ts';
import { describeJoinTokens } from './join-tokens.suite.ts';
import { describeJobConstraints } from './job-constraints.suite.ts';
import { describeJobs } from './jobs.suite.ts';
import { describeMetrics } from './metrics.suite.ts';
import { describeNotifications } from './notifications.suite.ts';
import { describeTemplates } from './templates.suite.ts';
import { describePools } from './pools.suite.ts';
import { describeQueue } from './queue.suite.ts';
import { describeQueueSettings } from './queue-settings.suite.ts';
import { describeSearch } from './search.suite.ts';
import { describeTokens } from './tokens.suite.ts';
import { describeWorkers } from './workers.suite.ts';
import { describeWrites } from './writes.suite.ts';

// Tests what main/orchestrator/ports requires of a store, for any implementation.
export function describeStore(name: string, open: OpenStore): void {
  describe(name, () => {
    describeWorkers(open);
    describeJobs(open);
    describeAbout(open);
    describeJobConstraints(open);
    describeQueue(open);
    describeDependencies(open);
    describeQueueSettings(open);
    describeSearch(open);
    describeEvents(open);
    describeWrites(open);
    describeAudit(open);
    describeTokens(open);
    describeJoinTokens(open);
    describePools(open);
    describeNotifications(open);
    describeTemplates(open);
    describeArtifacts(open);
    describeMetrics(open);
  });
}
