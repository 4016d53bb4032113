import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import type { RegistrationBody } from '../protocol/worker-api.ts';
import { findRun, findAcknowledged, type Found } from './attempt/adopt.ts';
import { type Availability, createAvailability } from './availability/availability.ts';
import { describeHours } from './availability/hours.ts';
import { openLastInput } from './availability/last-input.ts';
import { type Agent, createAgent } from './session/agent.ts';
import {
  createApiClient,
  createJoinCall,
  createRenewCall,
  createShipCall,
  createTrainerKeysCall,
  createUpdateCall,
  type UpdateCall,
} from './connection/api-client.ts';
import { type Ask, createAsk } from './attempt/trainer-actions.ts';
import { type AttemptLogs, createAttemptLogs } from './logs/attempt-logs.ts';
import { type AttemptOutputs, createAttemptOutputs } from './artifacts/attempt-outputs.ts';
import { fetchCheckpoint } from './artifacts/checkpoint-fetch.ts';
import { createInputFetch } from './artifacts/input-fetch.ts';
import { openRigData } from './datasets/rig-data.ts';
import { systemClock, machineUptime } from './clock.ts';
import { createFollowStream } from './connection/command-stream.ts';
import { type AgentConfig, tokenMissing } from './config/index.ts';
import { catchEarlySignals, type EarlySignals, handleSignals, type WorkerSignal } from './session/signals.ts';
import { missingFromStart } from './gpu/conditions.ts';
import {
  choiceOf,
  createRunCommand,
  type GpuReport,
  type RunCommand,
  probeFigures,
  probeGpus,
  selectGpus,
  trainerGpuEnvironment,
} from './gpu/probe.ts';
import type { GpuWatch } from './gpu/watch.ts';
import type { LaunchDeps } from './guard/guard-launch.ts';
import type { Send } from './connection/http-fetch.ts';
import { introductionOf } from './session/register.ts';
import { createJoin, createJoining } from './session/joining.ts';
import { createMetricsFiles } from './metrics/metrics-files/index.ts';
import { openNetwork } from './connection/network.ts';
import { findReachable } from './connection/reachable.ts';
import { ownProcesses } from './process/own-processes.ts';
import { openProcessTable } from './gpu/holders.ts';
import { type Run, startRun } from './attempt/run.ts';
import { findSample } from './simulated/sample.ts';
import { fail, type Loaded, reasonOf } from './files/failure-text.ts';
import { lockAfterTrial, openStateFolder, type StateFolder } from './state/state-folder.ts';
import { openStorage, type StorageDeps } from './artifacts/storage.ts';
import { openTelemetry } from './session/telemetry.ts';
import { type GivenToken, openOwnTokens, openToken, type TokenHolder } from './session/worker-token.ts';
import { checkSharedFolder, nodesIn } from './attempt/several-nodes.ts';
import { prepareJob, type Rig, trainerProbe } from './attempt/trainer.ts';
import type { JobOffer, PreparedJob } from './job.ts';
import { describeTrainer, type ProbedTrainer, probeTrainers, readKnownKeys } from './trainers/index.ts';
import { createTrainerKeys, type ReportTrainerKeys } from './trainers/known-keys.ts';
import { describeProgram, type UpdatableProgram } from './update/program.ts';
import { reportTrial } from './update/trial.ts';
import { openTryBook } from './update/try-book.ts';
import { runTurns, type TurnEnd } from './update/turns.ts';
import { createUpdater, type FailedUpdate, type Updater } from './update/updater.ts';
import { createConnectionWarnings } from './connection/connection-warnings.ts';

export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** This program's own command line up to its `selftest` and `guard` commands. */
  readonly ownCommand: readonly string[];
  /** The arguments of this process, for its successor after an update; absent where the program cannot be replaced. */
  readonly args?: readonly string[];
  readonly version: string;
  /** One line for people. */
  readonly log: (message: string) => void;
  readonly onSignal: (signal: WorkerSignal, act: () => void) => void;
  /** Calls `act` when stdin is closed. There is no other sign that the parent was killed. */
  readonly onInputEnd: (act: () => void) => void;
}

/** `locked` is EX_CANTCREAT of sysexits.h. */
const exitCodes = { unusable: 1, usage: 2, locked: 73 } as const;

/**
 * Keeps the young generation of V8's heap at its initial size. By default, it grows up to 48 MiB when a program produces much
 * garbage, for example while a trainer prints 20 MB a second. At the initial size, V8 frees the garbage sooner and is not slower.
 * Peak memory fell from 150 to 80 MiB.
 */
const limitYoungGeneration = (): void => setFlagsFromString('--semi-space-growth-factor=1');

/** Frees 3 MiB of garbage that the start produced and that an idle worker would keep. Only the executable has `gc`. */
function clearAfterStart(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Runs the worker. Resolves with its exit code. */
export async function runWorker(config: AgentConfig, host: Host): Promise<number> {
  const { log } = host;
  const signals = catchEarlySignals(host.onSignal, config.noticeSignal);
  limitYoungGeneration();
  const token = tokenFor(config);
  if (!token.ok) {
    log(token.message);
    return exitCodes.usage;
  }
  const fetch = openCalls(config);
  if (!fetch.ok) {
    log(fetch.message);
    return exitCodes.usage;
  }
  const run = createRunCommand({ environment: host.env });
  const { platform, arch } = process;
  const [probed, trainers, program] = await Promise.all([
    probeGpus({ run, platform, arch, environment: host.env }),
    probeTrainers(config.trainers, trainerProbe(host.env)),
    describeProgram({ ...host, config, canRestart: host.args !== undefined, pid: process.pid }),
  ]);
  const chosen =
    config.gpus === null ? { ok: true as const, report: probed } : selectGpus(probed, config.gpus);
  if (!chosen.ok) {
    log(chosen.message);
    return exitCodes.usage;
  }
  const { report } = chosen;
  const rig = rigOf(config, host, report);
  for (const line of startMessages(config, report, trainers)) log(line);
  const { args = [], env } = host;
  return runTurns({
    clock: systemClock,
    program,
    args,
    env,
    onSignals: signals.forward,
    log,
    async turn(failed) {
      const state = await openState(config, host);
      if (typeof state === 'number') return state;
      try {
        const shared = { config, host, signals, state, rig, report, trainers, program, failed };
        return await serve({ ...shared, givenToken: token.value, fetch: fetch.value });
      } finally {
        state.release();
      }
    },
  });
}

interface Serving {
  readonly config: AgentConfig;
  readonly host: Host;
  readonly signals: EarlySignals;
  readonly state: StateFolder;
  readonly rig: Rig;
  readonly report: GpuReport;
  readonly trainers: readonly ProbedTrainer[];
  readonly givenToken: GivenToken;
  readonly fetch: Send;
  readonly program: UpdatableProgram;
  /** The update that has just failed, to be reported to the orchestrator; null for none. */
  readonly failed: FailedUpdate | null;
}

const openAsk = ({ config, host, state }: Serving, processes: LaunchDeps['processes']): Ask =>
  createAsk({
    runOf: state.runOf,
    processes,
    trainers: config.trainers,
    run: trainerProbe(host.env).run,
    log: host.log,
  });

async function serve(serving: Serving): Promise<TurnEnd> {
  const { config, host, state, rig, report, trainers, givenToken, fetch } = serving;
  const { log, env } = host;
  const { orchestratorUrl: url } = config;
  const launching: LaunchDeps = {
    ownCommand: host.ownCommand,
    processes: ownProcesses(env),
    clock: systemClock,
  };
  const network = new AbortController();
  const token = joiningToken({ config, givenToken, log, fetch, over: network.signal });
  const foundRun = await findRun(state.runsDir, launching);
  const gpuCommand = createRunCommand({ environment: env });
  const { watch, telemetry } = await openTelemetry({
    run: gpuCommand,
    report,
    clock: systemClock,
    table: openProcessTable(process.platform, config.workDir),
    log,
    presentAtStart: missingFromStart(report, choiceOf(config.gpus, env)),
    found: foundRun === null || foundRun.kind === 'reported' ? null : foundRun.origin.jobId,
  });
  const logs = openLogs(serving, token.current, network.signal);
  const acknowledgedRuns = findAcknowledged(state.runsDir, launching);
  const renew = createRenewCall({ url, token: token.current, fetch });
  const storageDeps: StorageDeps = { url, send: fetch, clock: systemClock, renew };
  const outputs = openOutputs(serving, storageDeps, network.signal);
  outputs.resume(foundRun === null || foundRun.kind === 'reported' ? null : foundRun.origin.attemptId);
  const data = await openRigData(config, { ...storageDeps, over: network.signal });
  const calls = { url, token: token.current, fetch, signal: network.signal };
  const updater = openUpdater(serving, createUpdateCall(calls), network.signal, () => agent);
  const agent = createAgent({
    clock: systemClock,
    uptime: machineUptime,
    api: createApiClient(calls),
    followStream: createFollowStream(fetch),
    url,
    token,
    persistent: config.persistent,
    introduction: {
      ...introductionOf(config, host.version, report, trainers),
      ...identityOf(state),
      fetches_inputs: true,
      program: serving.program.reported,
      ...(rig.nodes === null ? { multi_node: true } : { nodes: rig.nodes.count }),
    },
    state: { keepReport: state.keepReport, dropReport: logs.acknowledge },
    registrations: state.registrations,
    found: foundRun === null ? null : withGpuWatch(foundRun, watch),
    acknowledgedRuns,
    logs,
    outputs,
    jobs: {
      prepare: offer => prepareJob(offer, rig, logs.isUsedByOtherAttempt),
      ...fetchesOf(serving, storageDeps, network.signal),
      fetchData: data.fetchData,
      reachable: () => findReachable(config.nodeAddress, url),
      start: async (job, origin, listeners) => {
        if (rig.nodes !== null) await checkSharedFolder(job, rig.nodes, trainerProbe(env).run);
        const run = await startRun(job, origin, listeners, { ...launching, runOf: state.runOf });
        if (rig.nodes !== null) leaveAfterFailure(run, () => agent.leave());
        return watch.follow(origin.jobId, run);
      },
      onLine: config.verbose ? line => log(`| ${line}`) : () => {},
    },
    ask: openAsk(serving, launching.processes),
    telemetry: telemetry.latest,
    datasets: data.versions,
    trainerKeys: openTrainerKeys(serving, token.current, network.signal),
    files: { open: root => createMetricsFiles({ root, log }), wall: Date.now },
    update: updater.take,
    ...(config.isTrial && { onConnected: reportTrial(log) }),
    gpuFigures: () => probeFigures({ run: gpuCommand, report }),
    ...availabilityOf(config, { run: gpuCommand, gpuTroubles: watch.troubles }),
    random: Math.random,
    log,
  });
  return runUntilOver(serving, { agent, token, network, updater });
}

interface Over {
  readonly agent: Agent;
  readonly token: TokenHolder;
  readonly network: AbortController;
  readonly updater: Updater;
}

async function runUntilOver(
  { config, host: { log, onInputEnd }, signals }: Serving,
  { agent, token, network, updater }: Over,
): Promise<TurnEnd> {
  const { noticeSignal } = config;
  const handOver = handleSignals(signals, { agent, token, network, noticeSignal, log });
  // A trial ends without a disconnect call, because the worker only changes its program.
  const end = (): void => {
    agent.handOverAnyway();
    network.abort();
  };
  if (config.leavesWithParent) onInputEnd(config.isTrial ? end : handOver);
  clearAfterStart();
  const code = await agent.run();
  // Nothing needs the pending calls, and they would keep the process running.
  network.abort();
  return updater.staged() ?? code;
}

function openUpdater(
  { config, host, state, fetch, program, failed }: Serving,
  report: UpdateCall,
  signal: AbortSignal,
  agent: () => Pick<Agent, 'canHandOver' | 'handOverAnyway'>,
): Updater {
  const run = createRunCommand({ environment: host.env });
  return createUpdater({
    url: config.orchestratorUrl,
    fetch,
    clock: systemClock,
    program,
    version: host.version,
    instanceId: state.instanceId,
    tries: openTryBook(config.stateDir),
    failed,
    async versionOf([file = '', ...args]) {
      const result = await run(file, [...args, '--version']);
      if (result.kind === 'exited' && result.code === 0) return result.stdout.trim();
      throw new Error(result.kind === 'exited' ? result.stderr.trim() : result.kind.replaceAll('_', ' '));
    },
    report,
    canHandOver: () => agent().canHandOver(),
    handOver: () => agent().handOverAnyway(),
    log: host.log,
    signal,
  });
}

/** Leaves after a failed run, because a node of this allocation may be the cause. A retry then gets a new allocation. */
function leaveAfterFailure({ finished }: Run, leave: () => void): void {
  void finished.then(exit => {
    if (exit === null || (exit.code !== 0 && exit.stopped === null)) leave();
  });
}

function openLogs(
  { config, host, state, fetch }: Serving,
  token: TokenHolder['current'],
  signal: AbortSignal,
): AttemptLogs {
  const logs = createAttemptLogs({
    state,
    ship: createShipCall({ url: config.orchestratorUrl, token, fetch }),
    token,
    clock: systemClock,
    wall: Date.now,
    random: Math.random,
    log: host.log,
    signal,
  });
  logs.resume();
  return logs;
}

const openOutputs = (
  { config, host, state }: Serving,
  storageDeps: StorageDeps,
  signal: AbortSignal,
): AttemptOutputs =>
  createAttemptOutputs({
    ...storageDeps,
    folder: state.outputsDir,
    imagesFolder: state.imagesDir,
    which: config.upload,
    random: Math.random,
    wall: Date.now,
    log: host.log,
    signal,
  });

/** Returns the agent's `availability`; an empty object for a rig that is always open and does not yield to its user. */
function availabilityOf(
  { hours, yieldsToUser }: AgentConfig,
  { run, gpuTroubles }: { readonly run: RunCommand; readonly gpuTroubles: GpuWatch['troubles'] },
): { readonly availability?: Availability } {
  if (hours === null && !yieldsToUser) return {};
  const wall = Date.now;
  const lastInput = yieldsToUser ? openLastInput({ run, platform: process.platform, wall }) : null;
  const use = yieldsToUser ? { lastInput, gpuTroubles } : null;
  return { availability: createAvailability({ hours, use, clock: systemClock, wall }) };
}

function openTrainerKeys(
  { config, host, trainers, fetch }: Serving,
  token: TokenHolder['current'],
  signal: AbortSignal,
): ReportTrainerKeys {
  const probe = trainerProbe(host.env);
  const send = createTrainerKeysCall({ url: config.orchestratorUrl, token, fetch, signal });
  return createTrainerKeys({ trainers, read: choice => readKnownKeys(choice, probe), send });
}

/** Registers an adopted run with the GPU watch, so that its processes count as this worker's own. */
const withGpuWatch = (run: Found, watch: GpuWatch): Found =>
  run.kind === 'reported'
    ? run
    : { ...run, attend: listeners => watch.follow(run.origin.jobId, run.attend(listeners)) };

/** Returns functions that download an attempt's checkpoint and inputs. `over` fires when downloads must stop. */
const fetchesOf = ({ config }: Serving, storageDeps: StorageDeps, over: AbortSignal) => ({
  fetchCheckpoint: (offer: JobOffer, job: PreparedJob, signal: AbortSignal) =>
    fetchFor(offer, job, AbortSignal.any([signal, over]), storageDeps),
  fetchInputs: createInputFetch(config.workDir, storageDeps, over),
});

/** Fetches the checkpoint to resume from, with the attempt's own token, as its trainer would. */
async function fetchFor(
  { resume, upload_endpoint: endpoint, upload_token: token = '' }: JobOffer,
  { outputDir }: PreparedJob,
  signal: AbortSignal,
  deps: StorageDeps,
): ReturnType<typeof fetchCheckpoint> {
  if (resume === null) return { kind: 'ready', message: 'Starting from the beginning' };
  const storage = openStorage({ endpoint, token }, deps);
  return fetchCheckpoint(resume, outputDir, { storage, clock: deps.clock, random: Math.random, signal });
}

/** Returns the token from the settings, or else the token from joining. */
function tokenFor({ token, stateDir }: AgentConfig): Loaded<GivenToken> {
  if (token !== null) return openToken(token);
  const ownTokens = openOwnTokens(stateDir).read();
  if (!ownTokens.ok) return ownTokens;
  // A join without a response may still have succeeded.
  const ownToken = ownTokens.value.joined ?? ownTokens.value.pending;
  return ownToken === null ? fail(tokenMissing) : openToken({ kind: 'value', token: ownToken.token });
}

interface JoiningDeps extends Pick<Serving, 'config' | 'givenToken' | 'fetch'>, Pick<Host, 'log'> {
  readonly over: AbortSignal;
}

function joiningToken({ config, givenToken, log, fetch, over }: JoiningDeps): TokenHolder {
  const { orchestratorUrl: url, stateDir } = config;
  const join = createJoin({
    clock: systemClock,
    call: createJoinCall({ url, fetch, signal: over }),
    url,
    random: Math.random,
    onTrouble: createConnectionWarnings(systemClock, url, log).warn,
  });
  return createJoining({ givenToken, ownTokens: openOwnTokens(stateDir), join, log, over });
}

function rigOf(config: AgentConfig, host: Host, report: GpuReport): Rig {
  return {
    name: config.name,
    orchestratorUrl: config.orchestratorUrl,
    workDir: config.workDir,
    cwd: process.cwd(),
    trainers: config.trainers,
    selftest: config.selftest,
    allowedConfigKeys: config.allowedConfigKeys,
    sample: findSample(),
    ownCommand: host.ownCommand,
    nodes: nodesIn(host.env),
    gpuEnv: gpus => trainerGpuEnvironment(report, gpus),
    env: host.env,
  };
}

function startMessages(
  config: AgentConfig,
  report: GpuReport,
  trainers: readonly ProbedTrainer[],
): readonly string[] {
  const gpus = report.count === 0 ? 'no GPU' : `${report.name} (${report.count} in all)`;
  return [
    `Worker ${config.name}: ${gpus}; ${config.persistent ? 'stays between jobs' : 'leaves after one job'}`,
    ...(config.hours === null ? [] : [`Takes jobs at ${describeHours(config.hours)} only`]),
    ...(config.yieldsToUser && process.platform === 'win32' ? [userUnknown] : []),
    ...(report.problem === undefined ? [] : [report.problem.message]),
    ...trainers.map(trainer => trainer.problem ?? `Trainer: ${describeTrainer(trainer)}`),
    ...(config.trust.verify ? [] : [unverified]),
  ];
}

const userUnknown =
  '--yield-to-user has no effect on Windows, which does not tell this worker whether somebody uses the machine';

const unverified =
  'WARNING: TLS certificates are not checked (--ssl-no-verify), so an attacker on the network can steal the token and control ' +
  'this worker. Use it only for tests. Use --pin with the value that the panel shows, or --ca-file';

/** Locks and opens the state folder for this process. When that fails, logs the reason and returns an exit code. */
async function openState(
  { stateDir: dir, isTrial }: AgentConfig,
  { env, log }: Host,
): Promise<(StateFolder & { readonly release: () => void }) | number> {
  try {
    const lock = { dir, pid: process.pid, processes: ownProcesses(env), clock: systemClock, isTrial };
    const locked = await lockAfterTrial(lock);
    if (locked.kind === 'held') {
      log(
        `Another worker (pid ${locked.by.pid}) uses ${dir}. Two workers cannot share it. Stop that one, or start this one with ` +
          'another --name',
      );
      return exitCodes.locked;
    }
    return { ...openStateFolder(dir), release: locked.release };
  } catch (cause) {
    log(
      `The worker's state can't be kept: ${reasonOf(cause)}. Make ${dir} writable, or choose another --state-dir`,
    );
    return exitCodes.unusable;
  }
}

/** Opens the network for all calls of this worker. */
function openCalls({ trust }: AgentConfig): Loaded<Send> {
  try {
    return { ok: true, value: openNetwork(trust) };
  } catch (cause) {
    return fail(`--ca-file ${trust.caFile}: ${reasonOf(cause)}`);
  }
}

/** `instance_id` distinguishes machines. `start_id` distinguishes a restart from a reconnection. */
const identityOf = ({ instanceId }: StateFolder): RegistrationBody => ({
  instance_id: instanceId,
  start_id: randomBytes(12).toString('hex'),
});
