/** The public interface of the orchestrator. Code outside imports only this and ports.ts, which declares what it must provide. */
export type { PruneChoice } from './datasets.ts';
export type { DryRun } from './dry-run.ts';
export type { FleetFigures } from './fleet-figures.ts';
export type { HealthFacts } from './health-facts.ts';
export type { Uploader } from './outstanding.ts';
export type { LogPlace } from './logs.ts';
export { createTrustedTime } from './trusted-time.ts';
export { unknownJoinToken } from './joining.ts';
export type { IssuedToken } from './worker-admin.ts';
export { auditAliases, securityTypesAmong, typeSieve } from './audit-types.ts';
export { auditTypes, nameOf, type Principal } from './model.ts';
export { adminPrincipal } from './tokens.ts';
export type { SettingsFact } from './settings.ts';
export type { Submitted } from './submit.ts';
export { createOrchestrator, type Orchestrator } from './orchestrator.ts';
export { gpusWanted } from './drafts.ts';
export type { JobCurves } from './metrics.ts';
