/** Texts that the app shows outside its page. Inside a list, a count of zero yields an empty string. */
export interface Words {
  readonly thisComputer: string;
  readonly open: string;
  readonly pause: string;
  readonly resume: string;
  readonly quit: string;
  readonly quitShort: string;
  readonly cancel: string;
  readonly notReached: string;
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
  readonly itHad: (job: string) => string;
  readonly goesOn: string;
  readonly goesOnBody: string;
  readonly quitAsk: (jobs: number) => string;
  readonly quitWhat: string;
  readonly portTaken: (port: number) => string;
  readonly portTakenWhat: string;
  readonly otherPort: string;
  readonly notStarted: string;
  readonly restored: string;
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
  | 'about';
