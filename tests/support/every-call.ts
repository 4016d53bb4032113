import { auditApi, eventsApi, systemApi, workersApi } from '../../protocol/admin-api.ts';
import { agentApi } from '../../protocol/agent-api.ts';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { Call } from '../../protocol/call.ts';
import { configsApi } from '../../protocol/configs-api.ts';
import { datasetsApi } from '../../protocol/datasets-api.ts';
import { healthApi } from '../../protocol/health-api.ts';
import { logsApi, workerLogsApi } from '../../protocol/logs-api.ts';
import { metricsApi } from '../../protocol/metrics-api.ts';
import { notificationsApi } from '../../protocol/notifications-api.ts';
import { poolsApi } from '../../protocol/pools-api.ts';
import { pushApi } from '../../protocol/push-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { runsApi } from '../../protocol/runs-api.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { settingsApi } from '../../protocol/settings-api.ts';
import { backupApi } from '../../protocol/backup-api.ts';
import { storageApi } from '../../protocol/storage-api.ts';
import { templatesApi } from '../../protocol/templates-api.ts';
import { timelineApi } from '../../protocol/timeline-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { usageApi } from '../../protocol/usage-api.ts';
import { workerApi } from '../../protocol/worker-api.ts';
import { workerUpdatesApi } from '../../protocol/worker-updates-api.ts';

/**
 * All API calls, grouped by the tables that define them. tests/contract/http/openapi.test.ts finds mounted calls that are
 * missing here.
 */
export const everyTable: readonly Readonly<Record<string, Call>>[] = [
  workerApi,
  workerLogsApi,
  agentApi,
  workersApi,
  workerUpdatesApi,
  poolsApi,
  notificationsApi,
  pushApi,
  queueApi,
  runsApi,
  templatesApi,
  timelineApi,
  usageApi,
  logsApi,
  artifactsApi,
  storageApi,
  metricsApi,
  configsApi,
  datasetsApi,
  sessionApi,
  settingsApi,
  tokensApi,
  auditApi,
  backupApi,
  eventsApi,
  systemApi,
  healthApi,
];

export const everyCall: readonly Call[] = everyTable.flatMap(table => Object.values(table));
