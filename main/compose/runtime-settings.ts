import { hostname } from 'node:os';
import { join } from 'node:path';
import { version } from '../../protocol/version.ts';
import type { Orchestrator } from '../orchestrator/index.ts';
import type { Audit } from '../audit/index.ts';
import type { ServerConfig } from '../config.ts';
import { ownAddresses } from '../host/addresses.ts';
import { startLocalWorker } from '../host/local-worker.ts';
import { workerNameOf } from '../host/local-worker-plan.ts';
import { createLocalWorkerSwitch } from '../host/local-worker-switch.ts';
import type { Network } from '../host/network.ts';
import { createSettings } from '../host/settings.ts';
import type { SettingsFile } from '../host/settings-sources.ts';
import type { Certificates } from '../host/tls/index.ts';
import type { TimedDeps } from './deps.ts';

interface SettingsDeps {
  readonly config: ServerConfig;
  readonly deps: TimedDeps;
  readonly file: SettingsFile;
  readonly network: Network;
  readonly certificates: Certificates;
  readonly orchestrator: Orchestrator;
  readonly audit: Audit;
}

/** Creates the settings that users can change while the server runs. */
export function createRuntimeSettings({
  config,
  deps,
  file,
  network,
  certificates,
  orchestrator,
  audit,
}: SettingsDeps) {
  const localWorker = createLocalWorkerSwitch(settings =>
    startLocalWorker({
      ...deps,
      program: deps.agent,
      settings,
      allowConfigScripts: config.localAllowConfigScripts,
      folder: join(config.dataDir, 'local-worker'),
      url: network.url,
      issue: () => orchestrator.workers.local(workerNameOf(hostname())),
    }),
  );
  const settings = createSettings({
    file,
    given: config,
    network,
    addresses: deps.addresses ?? ownAddresses,
    identity: () => certificates.shown,
    openCertificate: certificates.open,
    refreshCertificate: certificates.refresh,
    localWorker,
    orchestrator,
    keepAuditFor: audit.setRetention,
    about: {
      version,
      configs_dir: config.configsDir,
      data_dir: config.dataDir,
      hasSample: deps.agent.hasSample,
    },
  });
  return { localWorker, settings };
}
