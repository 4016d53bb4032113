/** The public interface of the orchestrator. Code outside imports only this and ports/index.ts, which declares what it must provide. */
export type { PruneChoice } from './commands/files/datasets.ts';
export type { DryRun } from './commands/jobs/dry-run.ts';
export type { FleetFigures } from './views/fleet-figures.ts';
export type { HealthFacts } from './views/fleet-figures.ts';
export type { Uploader } from './commands/files/outstanding.ts';
export type { LogRef } from './commands/files/logs.ts';
export { createTrustedTime } from './memory/clocks.ts';
export { unknownJoinToken } from './commands/workers/joining.ts';
export type { IssuedToken } from './commands/workers/worker-admin.ts';
export { auditAliases, securityTypesAmong, typeFilter } from './rules/audit-types.ts';
export { adminPrincipal, nameOf, type Principal } from './model.ts';
export { auditTypes } from './events.ts';
export type { SettingsFact } from './commands/access/settings.ts';
export type { Submitted } from './commands/jobs/submit.ts';
export type { Sweep } from './commands/jobs/sweeps.ts';
export { createOrchestrator, type Orchestrator } from './orchestrator.ts';
export { gpusWanted } from './rules/drafts.ts';
export type { JobCurves } from './commands/files/metrics.ts';
