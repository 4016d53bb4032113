import type { Words } from './words.ts';

const count = (one: string, several: string) => (n: number) =>
  n === 0 ? '' : `${n} ${n === 1 ? one : several}`;
const jobs = count('job', 'jobs');

export const en: Words = {
  thisComputer: 'This computer',
  open: 'Open Trainyard',
  pause: 'Pause the queue',
  resume: 'Resume the queue',
  quit: 'Quit Trainyard…',
  quitShort: 'Quit',
  cancel: 'Cancel',
  notReached: 'not reached',
  workersThere: n => (n === 0 ? 'no workers' : `${n} ${n === 1 ? 'worker' : 'workers'}`),
  jobsRunning: n => (n === 0 ? 'no jobs running' : `${jobs(n)} running`),
  moreJobs: n => `${n} more…`,
  paused: 'queue paused',
  completed: n => (n === 0 ? '' : `${jobs(n)} finished`),
  failed: n => (n === 0 ? '' : `${jobs(n)} failed`),
  lost: count('worker lost with its job', 'workers lost with their jobs'),
  several: 'News of your fleet',
  jobCompleted: 'Job finished',
  jobFailed: 'Job failed',
  workerLost: name => `Worker ${name} does not answer`,
  itHad: job => `It has the job ${job}`,
  goesOn: 'Trainyard goes on',
  goesOnBody:
    'The window is closed; the orchestrator works on. Its icon beside the clock has the way back, and the way out.',
  quitAsk: n => `Quit while ${n === 1 ? 'a job runs' : `${n} jobs run`}?`,
  quitWhat:
    'The workers go on with what they train, on this computer, too, and report it when Trainyard runs again. Until then no job ' +
    'that waits is given out, and nobody sees how far they are.',
  portTaken: port => `Port ${port} is used by another program`,
  portTakenWhat:
    'Workers on other machines find the orchestrator by it. Stop that program and start Trainyard again, or use another port this once.',
  otherPort: 'Use another port',
  notStarted: 'The orchestrator cannot start',
  restored: 'The database was damaged, and a backup has taken its place: what has changed since then is lost',
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
    keys: 'Keys and help',
    reload: 'Reload',
    about: 'About Trainyard',
  },
};
