/**
 * Texts of the tray, the menus, the notifications and the dialogs. `completed`, `failed` and `lost` return an empty text for 0.
 */
export interface Words {
  readonly thisComputer: string;
  readonly open: string;
  readonly pause: string;
  readonly resume: string;
  readonly quit: string;
  readonly quitShort: string;
  readonly cancel: string;
  readonly unreachable: string;
  readonly workersConnected: (count: number) => string;
  readonly jobsRunning: (count: number) => string;
  readonly moreJobs: (count: number) => string;
  readonly paused: string;
  readonly completed: (count: number) => string;
  readonly failed: (count: number) => string;
  readonly lost: (count: number) => string;
  readonly several: string;
  readonly jobCompleted: string;
  readonly jobFailed: string;
  readonly workerLost: (name: string) => string;
  readonly jobOfWorker: (job: string) => string;
  readonly stillRunning: string;
  readonly stillRunningBody: string;
  readonly quitQuestion: (jobs: number) => string;
  readonly quitDetail: string;
  readonly portTaken: (port: number) => string;
  readonly portTakenDetail: string;
  readonly otherPort: string;
  readonly notStarted: string;
  readonly restored: string;
  readonly wait: string;
  readonly reloadPage: string;
  readonly pageHangs: string;
  readonly pageHangsDetail: string;
  readonly diagnosticsCopied: string;
  readonly diagnosticsCopiedDetail: string;
  readonly updateAvailable: (version: string) => string;
  readonly updateAvailableBody: string;
  readonly restartQuestion: (jobs: number) => string;
  readonly restartDetail: string;
  readonly restartNow: string;
  readonly restartAfterJobs: string;
  readonly unsignedBuild: string;
  readonly joinQuestion: string;
  readonly joinAddress: (url: string) => string;
  /** The pin is empty for none. */
  readonly joinPin: (pin: string) => string;
  readonly joinDetail: string;
  readonly joinUnencrypted: string;
  readonly joinContinue: string;
  readonly linkHasToken: string;
  readonly linkHasTokenDetail: string;
  readonly linkInvalid: string;
  readonly linkInvalidDetail: string;
  readonly needAttention: (count: number) => string;
  readonly appsMenuFailed: string;
  readonly menu: Readonly<Record<MenuWord, string>>;
}

type MenuWord =
  | 'file'
  | 'edit'
  | 'view'
  | 'fleet'
  | 'window'
  | 'help'
  | 'closeWindow'
  | 'newJob'
  | 'settings'
  | 'overview'
  | 'workers'
  | 'jobs'
  | 'queue'
  | 'data'
  | 'audit'
  | 'keys'
  | 'reload'
  | 'copyDiagnostics'
  | 'checkForUpdates'
  | 'inAppsMenu'
  | 'about';

const count = (one: string, several: string) => (n: number) =>
  n === 0 ? '' : `${n} ${n === 1 ? one : several}`;
const jobs = count('job', 'jobs');

export const en: Words = {
  thisComputer: 'This computer',
  open: 'Open Trainyard',
  pause: 'Pause queue',
  resume: 'Resume queue',
  quit: 'Quit Trainyard…',
  quitShort: 'Quit',
  cancel: 'Cancel',
  unreachable: 'not reachable',
  workersConnected: n => (n === 0 ? 'no workers' : `${n} ${n === 1 ? 'worker' : 'workers'}`),
  jobsRunning: n => (n === 0 ? 'no jobs running' : `${jobs(n)} running`),
  moreJobs: n => `${n} more…`,
  paused: 'queue paused',
  completed: n => (n === 0 ? '' : `${jobs(n)} completed`),
  failed: n => (n === 0 ? '' : `${jobs(n)} failed`),
  lost: count('worker lost with its job', 'workers lost with their jobs'),
  several: 'Fleet activity',
  jobCompleted: 'Job completed',
  jobFailed: 'Job failed',
  workerLost: name => `Worker ${name} stopped responding`,
  jobOfWorker: job => `Its job: ${job}`,
  stillRunning: 'Trainyard is still running',
  stillRunningBody:
    'The window is closed, but the orchestrator keeps running. Use its icon near the clock to open the window again or to quit.',
  quitQuestion: n => `Quit while ${n === 1 ? '1 job is running' : `${n} jobs are running`}?`,
  quitDetail:
    'All workers keep training, including the one on this computer, and report when Trainyard runs again. Until then, no ' +
    'pending jobs are dispatched, and you cannot see progress.',
  portTaken: port => `Port ${port} is in use by another program`,
  portTakenDetail:
    'Workers on other machines connect to this port. Stop that program and start Trainyard again, or use another port this time.',
  otherPort: 'Use another port',
  notStarted: 'The orchestrator cannot start',
  restored: 'The database was damaged and was replaced by a backup. Changes made after that backup are lost',
  wait: 'Wait',
  reloadPage: 'Reload',
  pageHangs: 'The window does not respond',
  pageHangsDetail: 'Only the window is affected. The orchestrator and all jobs keep running.',
  diagnosticsCopied: 'The diagnostics are on the clipboard',
  diagnosticsCopiedDetail:
    'Secrets are removed. The text has versions, settings and the end of the log, with names of folders, workers and jobs: read it before you share it.',
  updateAvailable: n => `Trainyard ${n} is available`,
  updateAvailableBody: 'Click to see what is new and to install it.',
  restartQuestion: n => `Restart while ${n === 1 ? '1 job is running' : `${n} jobs are running`}?`,
  restartDetail:
    'All workers keep training, including the one on this computer, and report when the new version runs.',
  restartNow: 'Restart now',
  restartAfterJobs: 'When the jobs have ended',
  unsignedBuild: 'unsigned build',
  joinQuestion: 'Add this fleet to Trainyard?',
  joinAddress: url => `Address: ${url}`,
  joinPin: pin => `Pin: ${pin || 'none'}`,
  joinDetail:
    'A link suggests this fleet. Continue only if you know where the link comes from. The app then asks for your token.',
  joinUnencrypted: 'The address is not encrypted: other people on the network could read your token.',
  joinContinue: 'Continue',
  linkHasToken: 'The link contains a token or a password',
  linkHasTokenDetail:
    'Trainyard did not open it, because links end up in chats and histories. Revoke that token, and use a link with only the address and the pin.',
  linkInvalid: 'The link is not valid',
  linkInvalidDetail:
    'A link to a fleet contains an address (https://… or http://…) and, if the server needs one, a pin (sha256:…).',
  needAttention: n => `${n} ${n === 1 ? 'item needs' : 'items need'} attention`,
  appsMenuFailed: 'The applications menu cannot be changed',
  menu: {
    file: 'File',
    edit: 'Edit',
    view: 'View',
    fleet: 'Fleet',
    window: 'Window',
    help: 'Help',
    closeWindow: 'Close window',
    newJob: 'New job',
    settings: 'Settings…',
    overview: 'Overview',
    workers: 'Workers',
    jobs: 'Jobs',
    queue: 'Queue',
    data: 'Data',
    audit: 'Audit',
    keys: 'Keyboard shortcuts and help',
    reload: 'Reload',
    copyDiagnostics: 'Copy diagnostics',
    checkForUpdates: 'Check for updates…',
    inAppsMenu: 'Show in the applications menu',
    about: 'About Trainyard',
  },
};
