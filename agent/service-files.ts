/** A worker as a service of the machine: what the platform's own manager is told, as text. */
export interface Service {
  /** Of the worker, as people call it. */
  readonly worker: string;
  /** Of the service: letters, digits, dots, dashes and underscores. */
  readonly id: string;
  /** The program with its options; the first word is an absolute path. */
  readonly command: readonly string[];
  readonly folder: string;
  /** Null: the service manager's own. */
  readonly path: string | null;
  /** For the whole machine; else for the user who installs it. */
  readonly isSystem: boolean;
}

/** Folder-safe, and told apart by the platform's tools. */
export const serviceId = (worker: string): string =>
  `trainyard-worker-${worker.replaceAll(/[^\w.-]/g, '_').slice(0, 64)}`;

/** docs/workers.md says why each line is there. */
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

/** systemd replaces what stands behind a percent sign. */
const unitText = (text: string): string => text.replaceAll('%', '%%').replaceAll(/[\p{Cc}]/gu, ' ');

/** systemd.syntax(7) and systemd.service(5): quotes, backslashes, and the dollar of variables. */
const unitWord = (word: string): string =>
  /^[\w./:@=+-]+$/.test(word) ? word : unitQuoted(word).replaceAll('$', '$$$$');

/** In `Environment=`, a dollar is no variable. */
const unitQuoted = (text: string): string =>
  `"${unitText(text).replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`)}"`;

/** For launchd. A guard outlives the worker, as `AbandonProcessGroup` lets it. */
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

/** For the task scheduler of Windows, to be read by `schtasks /Create /XML`. */
export const windowsTask = ({ worker, command: [program = '', ...args], folder }: Service): string =>
  `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Trainyard worker ${xml(worker)}</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>
  </Settings>
  <Actions>
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

/** As the C runtime of Windows takes command lines apart: backslashes count only before a quote. */
const windowsWord = (word: string): string =>
  /^[\w./:@=+\\-]+$/.test(word)
    ? word
    : `"${word.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, '$1$1')}"`;
