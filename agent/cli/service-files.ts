/** A worker as a service of the machine. The functions below return its definition for each platform's service manager. */
export interface Service {
  /** Name of the worker. */
  readonly worker: string;
  /** Name of the service: letters, digits, dots, dashes and underscores. */
  readonly id: string;
  /** The program and its arguments; the program is an absolute path. */
  readonly command: readonly string[];
  /** Working directory of the service. */
  readonly folder: string;
  /** PATH of the service; null for the service manager's default. */
  readonly path: string | null;
  /** True for the whole machine, false for the user who installs the service. */
  readonly isSystem: boolean;
}

/** Returns a name for the service that is safe in file names and in the platform's tools. */
export const serviceId = (worker: string): string =>
  `trainyard-worker-${worker.replaceAll(/[^\w.-]/g, '_').slice(0, 64)}`;

/** Returns the unit for systemd. docs/workers.md explains each line. */
export function systemdUnit({ worker, command, folder, path, isSystem }: Service): string {
  const network = isSystem ? 'Wants=network-online.target\nAfter=network-online.target\n' : '';
  return `[Unit]
Description=Trainyard worker ${unitText(worker)}
${network}StartLimitIntervalSec=0

[Service]
ExecStart=${command.map(unitWord).join(' \\\n  ')}
WorkingDirectory=${unitText(folder)}
${path === null ? '' : `Environment=${unitQuoted(`PATH=${path}`)}\n`}UMask=0077
KillMode=process
KillSignal=SIGUSR2
TimeoutStopSec=30
OOMPolicy=continue
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 3 73

[Install]
WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}
`;
}

/** Doubles percent signs, because systemd expands them. */
const unitText = (text: string): string => text.replaceAll('%', '%%').replaceAll(/[\p{Cc}]/gu, ' ');

/** Escapes quotes, backslashes and dollar signs. See systemd.syntax(7) and systemd.service(5). */
const unitWord = (word: string): string =>
  /^[\w./:@=+-]+$/.test(word) ? word : unitQuoted(word).replaceAll('$', '$$$$');

/** In `Environment=`, a dollar sign does not start a variable. */
const unitQuoted = (text: string): string =>
  `"${unitText(text).replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;

/** Returns the property list for launchd. With `AbandonProcessGroup`, a guard outlives the worker. */
export const launchdPlist = ({ id, command, folder, path }: Service): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${xml(id)}</string>
  <key>ProgramArguments</key>
  <array>
${command.map(word => `    <string>${xml(word)}</string>\n`).join('')}  </array>
  <key>WorkingDirectory</key><string>${xml(folder)}</string>
${path === null ? '' : `  <key>EnvironmentVariables</key><dict><key>PATH</key><string>${xml(path)}</string></dict>\n`}  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>30</integer>
  <key>AbandonProcessGroup</key><true/>
  <key>ExitTimeOut</key><integer>30</integer>
  <key>Umask</key><integer>63</integer>
</dict>
</plist>
`;

/**
 * Returns the task for the Windows Task Scheduler. `schtasks /Create /XML` reads it. Without a user, the task would
 * start when any user logs on, and only administrators may install such a task. The schema allows 255 restarts at most.
 */
export const windowsTask = (
  { worker, command: [program = '', ...args], folder }: Service,
  user: string,
): string =>
  `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Trainyard worker ${xml(worker)}</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>${xml(user)}</UserId></LogonTrigger></Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${xml(user)}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${xml(program)}</Command>
      <Arguments>${xml(args.map(windowsWord).join(' '))}</Arguments>
      <WorkingDirectory>${xml(folder)}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`;

const xml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[\p{Cc}]/gu, ' ');

/** Quotes a word for the Windows C runtime, where backslashes are special only before a quote. */
const windowsWord = (word: string): string =>
  /^[\w./:@=+\\-]+$/.test(word)
    ? word
    : `"${word.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, '$1$1')}"`;
