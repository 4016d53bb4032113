import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { type AgentConfig, type Flags, loadAgentConfig } from '../config/index.ts';
import { configHome } from '../config/file.ts';
import { createRunCommand, type RunCommand } from '../gpu/probe.ts';
import { ownProcesses } from '../process/own-processes.ts';
import { planService, type ServicePlan } from './service-plan.ts';
import { serviceId } from './service-files.ts';
import { findRunningWorker, findStartTrouble, serviceFolder, servicePath } from './service-start.ts';
import { reasonOf } from '../files/failure-text.ts';
import { writeWhole } from '../files/whole-file.ts';
import { givenFlags, withWorkerOptions } from './worker-flags.ts';

export interface ServiceInvocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ownCommand: readonly string[];
  readonly out: (text: string) => void;
  readonly log: (message: string) => void;
  readonly exit: (code: number) => void;
}

const exitCodes = { done: 0, failed: 1, usage: 2, locked: 73 } as const;

/** `install-service` and `uninstall-service`. */
export const serviceCommands = (invocation: ServiceInvocation): readonly Command[] => [
  installCommand(invocation),
  uninstallCommand(invocation),
];

const userFlag = [
  '--user',
  'use the service manager of the current user (default; for root: that of the machine)',
] as const;

function installCommand(invocation: ServiceInvocation): Command {
  const { env, out, log, exit } = invocation;
  return withWorkerOptions(new Command('install-service'))
    .description('Install and start this worker as a service')
    .option(...userFlag)
    .option('--print', 'print the service definition without installing it')
    .action(async (_options: unknown, command: Command) => {
      const { print, user, ...flags } = givenFlags(command);
      const config = loadAgentConfig(flags, env);
      const planned = config.ok ? await plan(config.value, flags, user === true, invocation) : config;
      if (!planned.ok) {
        log(planned.message);
        return exit(exitCodes.usage);
      }
      const { service, tokenFile, token } = planned;
      if (print === true) {
        out(service.text);
        return exit(exitCodes.done);
      }
      // If the service is already installed, it is restarted with the new options, so its process is not a conflict.
      const runningPid = existsSync(service.file)
        ? null
        : await findRunningWorker(planned.folder, ownProcesses(env));
      if (runningPid !== null) {
        log(
          `Worker ${planned.name} is already running (pid ${runningPid}): stop it first. Its training continues`,
        );
        return exit(exitCodes.locked);
      }
      const trouble = await reasonOfFailure(async () => {
        if (token !== null) {
          mkdirSync(dirname(tokenFile), { recursive: true, mode: 0o700 });
          writeWhole(tokenFile, `${token}\n`);
        }
        mkdirSync(planned.folder, { recursive: true, mode: 0o700 });
        mkdirSync(dirname(service.file), { recursive: true });
        writeFileSync(service.file, service.text, { encoding: service.encoding, mode: 0o644 });
        await runAll(service.install, createRunCommand({ environment: env }));
      });
      if (trouble !== null) {
        log(`${trouble}. To remove ${service.file}, run "uninstall-service"`);
        return exit(exitCodes.failed);
      }
      log(`Installed worker ${planned.name} as a service: ${service.statusCommand}`);
      if (service.note !== null) log(service.note);
      return exit(exitCodes.done);
    });
}

function uninstallCommand({ env, log, exit }: ServiceInvocation): Command {
  return new Command('uninstall-service')
    .description('Remove the service of this worker. A running training continues')
    .option('--name <name>', 'name of the worker (default: the host name)')
    .option(...userFlag)
    .action(async (_options: unknown, command: Command) => {
      const { user, ...flags } = givenFlags(command);
      // The orchestrator's URL does not matter for uninstalling.
      const config = loadAgentConfig(
        { ...flags, 'orchestrator-url': 'http://localhost' },
        {
          ...env,
          SIMPLETUNER_WORKER_TOKEN: undefined,
        },
      );
      const { name } = config.ok ? config.value : { name: '' };
      const isSystem = isForMachine(user === true);
      const service = planService(
        { worker: name, id: serviceId(name), command: [''], folder: '', path: null, isSystem },
        machine(env),
      );
      if (!config.ok || service === null) {
        log(config.ok ? unknownPlatform : config.message);
        return exit(exitCodes.usage);
      }
      const folder = stateFolderIn(service);
      const trouble = await reasonOfFailure(async () => {
        const run = createRunCommand({ environment: env });
        await runAll(service.uninstall.slice(0, 1), run);
        rmSync(service.file, { force: true });
        rmSync(tokenFileOf(serviceId(name), isSystem, env), { force: true });
        await runAll(service.uninstall.slice(1), run);
      });
      log(
        trouble ??
          `Removed the service of worker ${name}. Its state is kept${folder === null ? '' : ` in ${folder}`}`,
      );
      return exit(trouble === null ? exitCodes.done : exitCodes.failed);
    });
}

type Planned =
  | { readonly ok: false; readonly message: string }
  | {
      readonly ok: true;
      readonly name: string;
      readonly service: ServicePlan;
      readonly folder: string;
      readonly tokenFile: string;
      /** The token to write to `tokenFile`; null when the user gave a file, or when the worker has joined before. */
      readonly token: string | null;
    };

/** Parent of the state folders of services for the whole machine. */
const systemStateHome = '/var/lib/trainyard-worker';

const unknownPlatform =
  'No supported service manager on this machine. Supported: systemd, launchd and the Windows task scheduler';

async function plan(
  config: AgentConfig,
  flags: Flags,
  isUser: boolean,
  { env, ownCommand }: ServiceInvocation,
): Promise<Planned> {
  const isSystem = isForMachine(isUser);
  const { name, token } = config;
  const id = serviceId(name);
  const tokenFile = token?.kind === 'file' ? resolve(token.path) : tokenFileOf(id, isSystem, env);
  const folder =
    isSystem && flags['state-dir'] === undefined
      ? serviceFolder(join(systemStateHome, id), config.stateDir, token !== null)
      : config.stateDir;
  const path = servicePath(env);
  const trainerTexts = [flags['trainer'] ?? []].flat().map(String);
  const trouble = await findStartTrouble({ config, trainerTexts, folder, path, env });
  if (trouble !== null) return { ok: false, message: trouble };
  const command = [
    ...ownCommand,
    ...toArguments({
      ...flags,
      'orchestrator-url': config.orchestratorUrl,
      name,
      persistent: true,
      'state-dir': folder,
      ...(typeof flags['config'] === 'string' && { config: resolve(flags['config']) }),
      ...(config.trust.caFile !== null && { 'ca-file': resolve(config.trust.caFile) }),
      ...(flags['work-dir'] !== undefined && { 'work-dir': config.workDir }),
      ...(typeof flags['python'] === 'string' && { python: resolve(flags['python']) }),
      ...(token !== null && { 'worker-token-file': tokenFile }),
    }),
  ];
  if (command.some(word => /[\p{Cc}]/u.test(word)))
    return {
      ok: false,
      message: 'An option contains a line break or another control character',
    };
  const service = planService({ worker: name, id, command, folder, path, isSystem }, machine(env));
  if (service === null) return { ok: false, message: unknownPlatform };
  return { ok: true, name, service, folder, tokenFile, token: token?.kind === 'value' ? token.token : null };
}

/**
 * Returns the flags as arguments of the service. Leaves out the token, which is in a file, and flags for interactive
 * use.
 */
function toArguments({
  'worker-token': _token,
  'leave-with-parent': _parent,
  verbose: _verbose,
  ...flags
}: Flags): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (value === true) return [`--${name}`];
    if (value === false) return [`--no-${name}`];
    return [value].flat().map(each => `--${name}=${String(each)}`);
  });
}

/** Returns the state folder of an installed service; null when its file cannot be read. */
function stateFolderIn({ file, encoding }: ServicePlan): string | null {
  try {
    const [, quoted, plain] =
      /"--state-dir=([^"]+)"|--state-dir=([^\s"<]+)/.exec(readFileSync(file, encoding)) ?? [];
    return quoted ?? plain ?? null;
  } catch {
    return null;
  }
}

const isForMachine = (isUser: boolean): boolean => !isUser && process.getuid?.() === 0;

const machine = (env: ServiceInvocation['env']) => ({
  platform: process.platform,
  home: homedir(),
  uid: process.getuid?.() ?? 0,
  configHome: dirname(configHome(env)),
  windowsUser: process.platform === 'win32' ? `${env['USERDOMAIN'] ?? '.'}\\${userInfo().username}` : '',
});

const tokenFileOf = (id: string, isSystem: boolean, env: ServiceInvocation['env']): string =>
  join(isSystem && process.platform === 'linux' ? '/etc/trainyard' : configHome(env), `${id}.token`);

/** Returns null on success, or the reason for the failure. */
async function reasonOfFailure(act: () => Promise<void>): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (cause) {
    return reasonOf(cause);
  }
}

async function runAll(commands: readonly (readonly string[])[], run: RunCommand): Promise<void> {
  for (const [program = '', ...args] of commands) {
    const result = await run(program, args);
    if (result.kind === 'exited' && result.code === 0) continue;
    const reason =
      result.kind === 'exited' ? result.stderr.trim().split('\n').at(-1) : result.kind.replaceAll('_', ' ');
    throw new Error(`"${[program, ...args].join(' ')}" failed: ${reason}`);
  }
}
