import type { Command } from 'commander';
import type { Invocation } from './invocation.ts';
import type { RemoteSpec } from './remote-command.ts';

type Load = () => Promise<(invocation: Invocation) => Command>;

const group = (
  name: string,
  about: string,
  load: () => Promise<readonly RemoteSpec[]>,
): readonly [string, Load] => [
  name,
  async () => {
    const [{ commandGroup }, specs] = await Promise.all([import('./remote-command.ts'), load()]);
    return invocation => commandGroup(invocation, name, about, specs);
  },
];

/** Commands by name, in the order of the help. Each command's modules are loaded on demand. */
export const commands: ReadonlyMap<string, Load> = new Map<string, Load>([
  ['server', async () => (await import('./server.ts')).serverCommand],
  ['worker', async () => (await import('./worker.ts')).localWorkerCommand],
  group(
    'workers',
    'List and manage workers',
    async () => (await import('./workers/index.ts')).workerCommands,
  ),
  group(
    'pools',
    'Get more machines from Slurm, Kubernetes or your own programs',
    async () => (await import('./pools/index.ts')).poolCommands,
  ),
  group('jobs', 'Submit and manage jobs', async () => (await import('./jobs/index.ts')).jobCommands),
  group(
    'configs',
    'List and edit training configs',
    async () => (await import('./configs.ts')).configCommands,
  ),
  group(
    'templates',
    'Save submissions with values that are asked for each time',
    async () => (await import('./templates/index.ts')).templateCommands,
  ),
  group('data', 'Store and list training data', async () => (await import('./data/index.ts')).dataCommands),
  group(
    'queue',
    'Pause, resume and limit the queue',
    async () => (await import('./queue/index.ts')).queueCommands,
  ),
  group(
    'audit',
    'Read and verify the audit trail',
    async () => (await import('./audit/index.ts')).auditCommands,
  ),
  group(
    'backup',
    'Create, list and restore database backups',
    async () => (await import('./backup.ts')).backupCommands,
  ),
  group(
    'tokens',
    'Create, list and revoke access tokens',
    async () => (await import('./tokens.ts')).tokenCommands,
  ),
  group(
    'sessions',
    'List and revoke browser sessions',
    async () => (await import('./sessions.ts')).sessionCommands,
  ),
  group(
    'settings',
    'Show and change server settings',
    async () => (await import('./settings/index.ts')).settingsCommands,
  ),
  ['notifications', async () => (await import('./notifications/index.ts')).notificationsCommand],
  [
    'link',
    async () => {
      const [{ remoteCommand }, { link }] = await Promise.all([
        import('./remote-command.ts'),
        import('./link.ts'),
      ]);
      return invocation => remoteCommand(invocation, link);
    },
  ],
  [
    'mcp',
    async () => {
      const [{ remoteCommand }, { mcp }] = await Promise.all([
        import('./remote-command.ts'),
        import('./mcp/index.ts'),
      ]);
      return invocation => remoteCommand(invocation, mcp);
    },
  ],
  ['doctor', async () => (await import('./doctor/index.ts')).doctorCommand],
  ['version', async () => (await import('./version.ts')).versionCommand],
  ['completion', async () => (await import('./completion/index.ts')).completionCommand],
  ['demo', async () => (await import('./demo.ts')).demoCommand],
]);
